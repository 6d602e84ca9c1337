//! Every fault of a provider, at every position of a stream, in every wire format. Whatever happens, a tool call is whole
//! or it is none, and what had been said is kept.

use super::test_server::{
    ARGUMENTS, Server, Step, TEXT, Wire, chunk, end, models, request, stream_head, whole, wires,
};
use super::{ModelError, Models};
use fugato_model::chat::{Answer, ModelFault, Part};
use futures_util::StreamExt;
use serde_json::json;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Start,
    MidText,
    MidArguments,
    BeforeEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    TooMany,
    TooManyWithWait,
    Status(u16),
    ConnectionRefused,
    NoSuchHost,
    NoTls,
    NoFirstByte,
    Idle,
    Reset,
    Truncated,
    DuplicateChunk,
    WrongContentType,
    Empty,
    Huge,
    BadUtf8,
    SlowDrip,
    ErrorBody,
    CutArguments,
}

const POSITIONS: [Position; 4] =
    [Position::Start, Position::MidText, Position::MidArguments, Position::BeforeEnd];

const FAULTS: [Fault; 21] = [
    Fault::TooMany,
    Fault::TooManyWithWait,
    Fault::Status(500),
    Fault::Status(502),
    Fault::Status(503),
    Fault::Status(529),
    Fault::ConnectionRefused,
    Fault::NoSuchHost,
    Fault::NoTls,
    Fault::NoFirstByte,
    Fault::Idle,
    Fault::Reset,
    Fault::Truncated,
    Fault::DuplicateChunk,
    Fault::WrongContentType,
    Fault::Empty,
    Fault::Huge,
    Fault::BadUtf8,
    Fault::SlowDrip,
    Fault::ErrorBody,
    Fault::CutArguments,
];

struct Case {
    wire: Wire,
    fault: Fault,
    position: Position,
}

impl Case {
    fn passed(&self) -> usize {
        match self.position {
            Position::Start => 0,
            Position::MidText => self.wire.mid_text,
            Position::MidArguments => self.wire.mid_arguments,
            Position::BeforeEnd => self.wire.frames.len() - 1,
        }
    }

    /// An error inside a stream, as the provider would send it.
    fn error_frame(&self, kind: &str) -> Vec<u8> {
        let error = json!({"type": kind, "code": kind, "message": "trouble"});
        match self.wire.name {
            "ollama" => format!("{}\n", json!({"error": error})).into_bytes(),
            "openai-responses" => {
                let failed =
                    json!({"type": "response.failed", "sequence_number": 99, "response": {"error": error}});
                format!("event: response.failed\ndata: {failed}\n\n").into_bytes()
            }
            _ => format!("event: error\ndata: {}\n\n", json!({"type": "error", "error": error})).into_bytes(),
        }
    }

    fn steps(&self) -> Vec<Step> {
        let passed = self.passed();
        let at_start = self.position == Position::Start;
        let kind = if self.fault == Fault::WrongContentType { "text/html" } else { "text/event-stream" };
        let mut steps = vec![stream_head(kind)];
        steps.extend(self.wire.frames[..passed].iter().map(|frame| chunk(frame.as_bytes())));
        let next = self.wire.frames[passed].as_bytes();
        let rest = |from: usize| self.wire.frames[from..].iter().map(|frame| chunk(frame.as_bytes()));
        let error = br#"{"error":{"type":"overloaded_error","message":"trouble"}}"#;
        match self.fault {
            Fault::TooMany if at_start => return whole(429, "application/json", "", error),
            Fault::TooManyWithWait if at_start => {
                return whole(429, "application/json", "retry-after: 7\r\n", error);
            }
            Fault::Status(status) if at_start => return whole(status, "text/html", "", b"<html>no</html>"),
            Fault::ErrorBody if at_start => return whole(200, "application/json", "", error),
            Fault::NoFirstByte if at_start => return vec![Step::Hang],
            Fault::TooMany | Fault::TooManyWithWait => {
                steps.push(chunk(&self.error_frame("rate_limit_error")));
            }
            Fault::Status(_) | Fault::ErrorBody => steps.push(chunk(&self.error_frame("server_error"))),
            Fault::NoFirstByte | Fault::Idle => steps.push(Step::Hang),
            // Faults of connecting can strike only once; later the connection is simply gone.
            Fault::ConnectionRefused | Fault::NoSuchHost | Fault::NoTls => {}
            Fault::Reset => steps.push(Step::Reset),
            Fault::Truncated => steps.extend([chunk(&next[..next.len() / 2]), end()]),
            Fault::DuplicateChunk => {
                steps.push(chunk(next));
                steps.extend(rest(passed));
                steps.push(end());
            }
            Fault::WrongContentType | Fault::CutArguments => {
                steps.extend(rest(passed));
                steps.push(end());
            }
            Fault::Empty => steps.push(end()),
            Fault::Huge => {
                steps.push(chunk(format!(": {}\n", "x".repeat(70_000)).as_bytes()));
                steps.push(Step::Hang);
            }
            Fault::BadUtf8 => {
                steps.push(chunk(b"data: {\"x\":\"\xff\xfe\"}\n\n"));
                steps.extend(rest(passed));
                steps.push(end());
            }
            Fault::SlowDrip => {
                let bytes: Vec<u8> = next
                    .iter()
                    .take(40)
                    .flat_map(|byte| [b"1\r\n", &[*byte][..], b"\r\n"].concat())
                    .collect();
                steps.push(Step::Drip(bytes, Duration::from_millis(50)));
                steps.push(Step::Hang);
            }
        }
        steps
    }

    async fn run(&self) -> Result<Answer, ModelError> {
        let server = Server::always(self.steps()).await;
        let at_start = self.position == Position::Start;
        let models: Models = match self.fault {
            Fault::ConnectionRefused if at_start => {
                let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
                models(&format!("http://{unused}"))
            }
            Fault::NoSuchHost if at_start => models("http://nowhere.invalid:9"),
            Fault::NoTls if at_start => models(&format!("https://127.0.0.1:{}", server.port)),
            _ => server.models(),
        };
        models.call(self.wire.model, request(), &mut |_| {}).await
    }

    fn expected(&self) -> &'static [ModelFault] {
        match self.fault {
            Fault::TooMany | Fault::TooManyWithWait => &[ModelFault::RateLimited],
            Fault::Huge | Fault::CutArguments => &[ModelFault::Malformed],
            _ => &[ModelFault::Transient],
        }
    }

    /// What is wrong with the result, if anything.
    fn check(&self, result: &Result<Answer, ModelError>) -> Result<(), String> {
        let calls_are_whole = |answer: &Answer| {
            let expected: serde_json::Value = serde_json::from_str(ARGUMENTS).unwrap();
            let calls: Vec<_> = answer.message.tool_calls().collect();
            !calls.is_empty() && calls.iter().all(|call| call.name == "Read" && call.arguments == expected)
        };
        match (self.fault, result) {
            (Fault::WrongContentType, Ok(answer)) => {
                let is_same = calls_are_whole(answer) && answer.message.text() == TEXT;
                is_same.then_some(()).ok_or_else(|| format!("{answer:?}"))
            }
            // A repeated frame may repeat words; it may break a call, but never change one.
            (Fault::DuplicateChunk, Ok(answer)) => {
                calls_are_whole(answer).then_some(()).ok_or_else(|| format!("{answer:?}"))
            }
            (Fault::DuplicateChunk, Err(error)) if error.fault == ModelFault::Malformed => Ok(()),
            (_, Ok(answer)) => Err(format!("an answer: {answer:?}")),
            (_, Err(error)) => self.check_error(error),
        }
    }

    fn check_error(&self, error: &ModelError) -> Result<(), String> {
        if !self.expected().contains(&error.fault) {
            return Err(format!("{:?}: {}", error.fault, error.words.en));
        }
        let parts = error.partial.iter().flat_map(|partial| &partial.parts);
        if parts.clone().any(|part| !matches!(part, Part::Text { .. } | Part::Reasoning { .. })) {
            return Err(format!("a call in the partial answer: {:?}", error.partial));
        }
        let said = error.partial.as_ref().map_or_else(String::new, fugato_model::chat::Message::text);
        let expected = match self.position {
            _ if self.fault == Fault::CutArguments => TEXT,
            Position::Start => "",
            Position::MidText => "Hello, ",
            Position::MidArguments | Position::BeforeEnd => TEXT,
        };
        if said != expected {
            return Err(format!("kept {said:?} instead of {expected:?}"));
        }
        let asked = self.fault == Fault::TooManyWithWait && self.position == Position::Start;
        if asked && error.retry_after != Some(Duration::from_secs(7)) {
            return Err(format!("retry_after {:?}", error.retry_after));
        }
        if error.words.en.contains("canary") {
            return Err("the key is in the error".to_owned());
        }
        Ok(())
    }
}

/// Arguments that end too early, at different places.
fn cut_arguments(position: Position) -> &'static str {
    match position {
        Position::Start => "{",
        Position::MidText => r#"{"path":"#,
        Position::MidArguments => r#"{"path":"src/li"#,
        Position::BeforeEnd => r#"{"path":"src/lib.rs","limit":3"#,
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for fault in FAULTS {
        for position in POSITIONS {
            let arguments = if fault == Fault::CutArguments { cut_arguments(position) } else { ARGUMENTS };
            cases.extend(wires(arguments).into_iter().map(|wire| Case { wire, fault, position }));
        }
    }
    cases
}

#[tokio::test]
async fn no_fault_loses_words_or_lets_half_a_call_run() {
    let cases = cases();
    assert_eq!(cases.len(), 21 * 4 * 5);
    let results =
        futures_util::stream::iter(&cases).map(async |case| (case, case.run().await)).buffer_unordered(24);
    let wrong: Vec<String> = results
        .filter_map(async |(case, result)| {
            let error = case.check(&result).err()?;
            Some(format!("{} {:?} {:?}: {error}", case.wire.name, case.fault, case.position))
        })
        .collect()
        .await;
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[tokio::test]
async fn after_a_fault_the_next_call_succeeds() {
    for at in 0..wires(ARGUMENTS).len() {
        let wire = wires(ARGUMENTS).remove(at);
        let case = Case { wire, fault: Fault::Truncated, position: Position::MidArguments };
        let good = Case {
            wire: wires(ARGUMENTS).remove(at),
            fault: Fault::WrongContentType,
            position: Position::Start,
        };
        let (bad, fine) = (case.steps(), good.steps());
        let server =
            Server::start(move |number, _| if number == 0 { bad.clone() } else { fine.clone() }).await;
        let models = server.models();
        assert!(models.call(case.wire.model, request(), &mut |_| {}).await.is_err());
        let answer = models.call(case.wire.model, request(), &mut |_| {}).await.unwrap();
        assert_eq!(answer.message.text(), TEXT, "{}", case.wire.name);
    }
}
