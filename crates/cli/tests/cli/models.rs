//! Models as people meet them: settings, the default and why, replay, prices, and keys that must appear nowhere.

use crate::env;
use fugato_testkit::{Ran, TestEnv};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A server that speaks Chat Completions: each request is answered with the next text, the last one for ever.
struct ChatServer {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl ChatServer {
    fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let record = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &answers, &record);
            }
        });
        Self { port, seen }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(stream: TcpStream, answers: &[String], record: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let mut stream = reader.into_inner();
    if head.starts_with("GET ") {
        return stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"small\"}]}");
    }
    let number = {
        let mut record = record.lock().unwrap();
        record.push(format!("{head}{}", String::from_utf8_lossy(&body)));
        record.len() - 1
    };
    let answer = answers.get(number).or(answers.last()).unwrap();
    let piece = serde_json::json!({"choices": [{"index": 0, "delta": {"content": answer}}]});
    let end = serde_json::json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100}});
    let events = format!("data: {piece}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("{head}{events}").as_bytes())
}

fn own_settings(env: &TestEnv, text: &str) {
    std::fs::write(env.home().join("config.toml"), text).unwrap();
}

fn plain_skill() -> TestEnv {
    let env = env();
    env.skill("greet", "name: greet\ndescription: Greets.");
    env
}

fn newest(env: &TestEnv) -> String {
    env.fugato("runs --json").exits(0).json()["runs"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_server_of_ones_own_is_configured_and_found() {
    let env = plain_skill();
    let server = ChatServer::start(&["你好"]);
    let url = server.url();
    own_settings(
        &env,
        &format!(
            "[providers.team]\nbase_url = \"{url}\"\nheaders = {{ x-team = \"blue\" }}\n[prices.\"team/small\"]\ninput = 2\noutput = 10\ndate = 2026-11-01\n"
        ),
    );
    // Nothing says which model: the server is asked for its first one.
    env.fugato("run greet").exits(0).says(&["你好"]);
    let request = server.requests().remove(0);
    assert!(request.contains("x-team: blue") && request.contains("\"model\":\"small\""), "{request}");
    // 1000 tokens at 2 and 100 at 10 dollars a million.
    env.fugato("cost").exits(0).says(&["$0.0030", "team/small 2026-11-01"]);
    env.write("fugato.toml", "model = \"team/other\"\n");
    env.fugato("run greet").exits(0);
    assert!(server.requests().remove(1).contains("\"model\":\"other\""));
    let cost = env.fugato("cost").exits(0);
    cost.says(&["—", "team/other", "unknown", "[prices.\"team/other\"]"]);
    assert!(!cost.stdout.contains("$0"), "{}", cost.stdout);
    env.fugato("cost --json").exits(0).json()["prices"]["table"].as_str().unwrap();
}

#[test]
fn without_a_model_three_ways_are_named() {
    let env = plain_skill();
    let ran = env.fugato("run greet").exits(8);
    ran.says(&["F0603", "ANTHROPIC_API_KEY", "ollama", "script:FILE", "fugato demo"]);
    env.fugato("run greet --model antropic/x").exits(3).says(&["F0604", "anthropic"]);
    assert_eq!(env.fugato("runs").code, 3, "nothing was started");
    let key = env.command().args(["doctor"]).env("GEMINI_API_KEY", "canary-0123456789").output().unwrap();
    let said = String::from_utf8_lossy(&key.stdout).into_owned();
    assert!(
        said.contains("gemini/") && said.contains("GEMINI_API_KEY") && !said.contains("canary"),
        "{said}"
    );
    env.fugato("doctor").exits(0).says(&["no model", "without a key: anthropic (ANTHROPIC_API_KEY)"]);
}

#[test]
fn doctor_names_the_model_where_it_is_set_and_what_answers() {
    let env = plain_skill();
    let server = ChatServer::start(&["x"]);
    own_settings(&env, &format!("[providers.team]\nbase_url = \"{}\"\n", server.url()));
    env.fugato("doctor")
        .exits(0)
        .says(&["model team/small: a server answers at 127.0.0.1", "provider `team` (openai-chat)"]);
    env.write("fugato.toml", "\nmodel = \"echo\"\n");
    let found = env.fugato("doctor --json").exits(0).json();
    assert_eq!((&found["models"]["default"], &found["models"]["why"]), (&"echo".into(), &"set".into()));
    assert_eq!(found["models"]["running"][0]["model"], "team/small");
    env.fugato("doctor").exits(0).says(&["model echo: set in fugato.toml:2"]);
}

#[test]
fn settings_of_sections_have_an_origin_and_suggestions() {
    let env = env();
    env.write(
        "fugato.toml",
        "[providers.team]\nbase_ulr = \"http://x\"\nnative_tools = false\n[prices.\"team/x\"]\ninput = 1\noutput = -3\n",
    );
    let list = env.fugato("config list --origin").exits(0);
    list.says(&[
        "providers.team.native_tools",
        "project fugato.toml:3",
        "prices.\"team/x\".input",
        "fugato.toml:2:1",
    ]);
    list.says(&["did you mean `base_url`?", "fugato.toml:6:10", "US dollars per million tokens"]);
    env.run(["config", "get", "providers.team.native_tools"]).exits(0).says(&["false"]);
    env.run(["config", "set", "prices.\"team/x\".output", "4.25"]).exits(0);
    assert!(env.read("fugato.toml").contains("output = 4.25"));
    env.run(["config", "set", "providers.team.nothing", "1"]).exits(3).says(&["F0402"]);
}

/// What came with a clone must not lead a key elsewhere.
#[test]
fn a_projects_file_cannot_redirect_a_key() {
    let env = plain_skill();
    let stranger = ChatServer::start(&["got it"]);
    let url = stranger.url();
    for file in ["fugato.toml", "fugato.local.toml"] {
        env.write(
            file,
            format!(
                "model = \"openai-chat/x\"\n[providers.openai-chat]\nbase_url = \"{url}\"\nkey_command = \"touch ran\"\n[providers.more]\nbase_url = \"{url}\"\nkey_env = \"OPENAI_API_KEY\"\n"
            ),
        );
    }
    let ran = |model: &str| {
        let mut command = env.command();
        command.args(["run", "greet", "--model", model]);
        // The real address is not reached either: a proxy that is not there.
        command.env("OPENAI_API_KEY", "sk-canary-01234567").env("HTTPS_PROXY", "http://127.0.0.1:9");
        command.env("FUGATO_CALLS_ATTEMPTS", "1").output().unwrap()
    };
    let first = ran("openai-chat/x");
    assert!(String::from_utf8_lossy(&first.stderr).contains("F0405"));
    assert!(!first.status.success());
    assert_eq!(stranger.requests().len(), 0);
    assert!(ran("more/x").status.success(), "a server without a key is fine");
    assert!(!stranger.requests().remove(0).contains("canary"));
    assert!(!env.project().join("ran").exists());
    env.run(["config", "set", "providers.openai.base_url", &url]).exits(8).says(&["F0405", "--layer user"]);
}

/// The example, recorded with its scripted model, then played again without it.
#[test]
fn a_recorded_run_answers_for_a_model() {
    let env = env();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/daily-brief");
    copy(&example, &env.project().join("daily-brief"));
    let model = env.project().join("daily-brief/model.yaml");
    let calendar = env.project().join("daily-brief/sample/calendar.csv");
    std::fs::copy(calendar, env.project().join("calendar.csv")).unwrap();
    let play = |model: &str| {
        env.run(["run", "./daily-brief", "2026-02-15", "--model", model, "--no-input"]).exits(6);
        let id = newest(&env);
        let answered = env.run(["answer", &id, "the launch plan", "--json", "--no-input"]).exits(0).json();
        (id, answered["variables"].clone())
    };
    let (id, variables) = play("script:daily-brief/model.yaml");
    std::fs::remove_file(model).unwrap();
    let (again, same) = play(&format!("replay:{id}"));
    assert_ne!(id, again);
    assert_eq!(variables, same);
    assert!(variables.as_object().unwrap().len() > 4, "{variables}");
    let answers = |id: &str| {
        let events = env.run(["events", id, "--jsonl"]).exits(0).stdout;
        events.lines().filter(|line| line.contains("model.answered")).count()
    };
    assert!(answers(&id) > 1 && answers(&id) == answers(&again));
    // A run that has no such answer says so; one that does not exist is refused before anything starts.
    env.skill("greet", "name: greet\ndescription: Greets.");
    env.write("m.yaml", "- when: {agent: nobody}\n  reply: x\n");
    env.fugato("run greet --model echo").exits(0);
    let other = newest(&env);
    env.run(["run", "./daily-brief", "--model", &format!("replay:{other}"), "--no-input"])
        .exits(1)
        .says(&["no recorded answer"]);
    env.fugato("run greet --model replay:run_nothing").exits(3);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            std::fs::copy(&source, &target).unwrap();
        }
    }
}

const CANARY: &str = "sk-canary-7f3a\"9c\\1d\u{e9}x";
const COMMAND_CANARY: &str = "cmd-canary-5521aa";

/// A key that a script, a tool, the model, an error and a person all print is nowhere.
#[test]
fn no_secret_leaves() {
    let env = env();
    env.write(
        ".agents/skills/leaky/SKILL.md",
        "---\nname: leaky\ndescription: Prints what it should not.\nphases:\n  - name: one\n    subagents:\n      - skill: _sub/script\n        type: script\n        output: SCRIPT\n      - skill: _sub/think\n        type: general-purpose\n        args: \"{{SCRIPT}} {{ARGUMENTS}}\"\n        output: THOUGHT\n      - skill: _sub/fails\n        type: script\n        optional: true\n        output: FAILS\n  - name: ask\n    depends_on: [one]\n    inline: true\n    sets: [NAME]\n---\n# leaky\n\n## ask\n\nAsk. {{THOUGHT}}\n",
    );
    let sub = |name: &str, more: &str| {
        let text = format!("---\nname: {name}\ndescription: Part.\n{more}---\nDo it.\n");
        env.write(format!(".agents/skills/leaky/_sub/{name}/SKILL.md"), text);
    };
    let script = "metadata:\n  fugato-run: scripts/main.sh\n  fugato-effect: read\n";
    sub("script", script);
    sub("think", "");
    sub("fails", script);
    // Long enough for a blob.
    env.write(
        ".agents/skills/leaky/_sub/script/scripts/main.sh",
        "#!/bin/sh\ncat secret.txt command.txt\nseq 2000 | tr '\\n' ' '\ncat secret.txt\n",
    );
    env.write(
        ".agents/skills/leaky/_sub/fails/scripts/main.sh",
        "#!/bin/sh\ncat secret.txt command.txt >&2\nexit 3\n",
    );
    env.write("secret.txt", CANARY);
    env.write("command.txt", COMMAND_CANARY);
    let action = |value: serde_json::Value| value.to_string();
    let answers = [
        action(
            serde_json::json!({"tool": "Bash", "arguments": {"command": "cat secret.txt command.txt; cat secret.txt >&2"}}),
        ),
        action(serde_json::json!({"tool": "Write", "arguments": {"path": "out.txt", "content": CANARY}})),
        action(serde_json::json!({"answer": format!("the key is {CANARY} and {COMMAND_CANARY}")})),
        action(
            serde_json::json!({"tool": "ask_user", "arguments": {"question": format!("is it {CANARY}?")}}),
        ),
        action(serde_json::json!({"tool": "submit_result", "arguments": {"result": {"NAME": CANARY}}})),
    ];
    let server = ChatServer::start(&answers.each_ref().map(String::as_str));
    own_settings(
        &env,
        &format!(
            "model = \"leak/x\"\n[providers.leak]\nbase_url = \"{}\"\nnative_tools = false\nkey_command = \"cat command.txt\"\n[providers.other]\nkey_env = \"PLAIN_NAME\"\n",
            server.url()
        ),
    );
    let run = |arguments: &[&str]| {
        let output = env.command().args(arguments).env("PLAIN_NAME", CANARY).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran {
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    };
    let mut said = vec![run(&["run", "leaky", CANARY, "--set", &format!("EXTRA={CANARY}"), "--jsonl"])];
    assert_eq!(said[0].code, 6, "{}\n{}", said[0].stdout, said[0].stderr);
    let id = newest(&env);
    said.push(run(&["answer", &id, CANARY, "--json"]));
    assert_eq!(said[1].code, 0, "{}\n{}", said[1].stdout, said[1].stderr);
    for arguments in [
        vec!["events"],
        vec!["events", "--json"],
        vec!["trace"],
        vec!["cost", "--json"],
        vec!["runs", "--json"],
        vec!["config", "list"],
        vec!["doctor"],
    ] {
        said.push(run(&arguments));
    }
    // The same in words for a person.
    said.push(run(&["run", "leaky", CANARY]));
    said.last().unwrap().says(&["failed with exit code 3"]);
    assert!(server.requests().len() >= answers.len(), "the model was asked: {}", server.requests().len());
    assert!(server.requests()[0].contains(COMMAND_CANARY), "the key itself is used");
    assert!(said[0].stdout.contains("<redacted>"));
    for ran in &said {
        for stream in [&ran.stdout, &ran.stderr] {
            assert!(!holds_secret(stream.as_bytes()), "{stream}");
        }
    }
    let mut files = 0;
    search(&env.home(), &mut |path, bytes| {
        files += 1;
        assert!(!holds_secret(bytes), "{}", path.display());
    });
    assert!(files > 3, "the store was looked at");
    // What the model asked to write is the model's own word, and that was cleaned before it was done.
    assert_eq!(env.read("out.txt"), "<redacted>");
}

fn holds_secret(bytes: &[u8]) -> bool {
    let escaped = serde_json::to_string(CANARY).unwrap();
    let twice = serde_json::to_string(&escaped).unwrap();
    let forms = [
        CANARY,
        escaped.trim_matches('"'),
        twice.trim_matches('"').trim_matches('\\'),
        COMMAND_CANARY,
        "canary-7f3a",
    ];
    forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form.as_bytes()))
}

fn search(dir: &Path, look: &mut dyn FnMut(&Path, &[u8])) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => search(&path, look),
            false => look(&path, &std::fs::read(&path).unwrap()),
        }
    }
}

/// A plain skill with a scripted model; the run's events.
fn play(script: &str, code: i32) -> Vec<serde_json::Value> {
    let env = plain_skill();
    env.write("m.yaml", script);
    env.write("a.txt", "one");
    env.fugato("run greet --model script:m.yaml --no-input").exits(code);
    let events = env.fugato("events --jsonl").exits(0).stdout;
    events.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'a>(events: &'a [serde_json::Value], kind: &str) -> Vec<&'a serde_json::Value> {
    events.iter().map(|event| &event["kind"]).filter(|event| event["type"] == kind).collect()
}

#[test]
fn unreadable_arguments_get_a_repair_turn_with_the_parsers_words() {
    let events = play(
        "- when: {step: 1}\n  fault: malformed\n  tools: [{name: Read}]\n- when: {step: 2, text: EOF}\n  reply: better\n",
        0,
    );
    let failed = of(&events, "model.failed");
    assert_eq!(failed.len(), 1);
    assert!(failed[0]["message"].as_str().unwrap().contains("`Read`"), "{failed:?}");
    assert!(of(&events, "tool.requested").is_empty(), "nothing half was run");
    let for_ever = play("- fault: malformed\n  tools: [{name: Read}]\n", 1);
    assert!((2..=4).contains(&of(&for_ever, "model.failed").len()), "{for_ever:?}");
}

#[test]
fn a_cut_stream_is_tried_again_and_runs_no_tool() {
    let events = play(
        "- times: 1\n  fault: cut\n  reply: half of this\n  tools: [{name: Read, arguments: {path: a.txt}}]\n- when: {attempt: 1}\n  reply: whole\n",
        0,
    );
    assert!(of(&events, "tool.requested").is_empty());
    assert_eq!(of(&events, "model.answered").len(), 1);
}

#[test]
fn an_unknown_tool_is_an_error_result_for_the_model() {
    let events = play(
        "- when: {step: 1}\n  tools: [{name: Raed, arguments: {path: a.txt}}]\n- when: {tool_result: Raed, text: no tool}\n  reply: sorry\n",
        0,
    );
    let refused = of(&events, "tool.refused");
    assert_eq!(refused.len(), 1);
    assert!(refused[0]["reason"].as_str().unwrap().contains("Read"), "{refused:?}");
    let for_ever = play("- tools: [{name: Raed}]\n", 1);
    assert!(
        (3..=5).contains(&of(&for_ever, "tool.refused").len()),
        "{}",
        of(&for_ever, "tool.refused").len()
    );
}

#[test]
fn five_hundred_tool_calls_in_one_answer_are_run_up_to_the_limit() {
    let calls = "{name: Read, arguments: {path: a.txt}}, ".repeat(500);
    let events =
        play(&format!("- when: {{step: 1}}\n  tools: [{calls}]\n- when: {{step: 2}}\n  reply: done\n"), 0);
    assert_eq!(of(&events, "tool.requested").len(), 64);
    let refused = of(&events, "tool.completed").iter().filter(|event| event["is_error"] == true).count();
    assert_eq!(refused, 500 - 64);
}

/// The settings and scripts that the guide shows are read without a complaint.
#[test]
fn the_guides_examples_are_what_they_say() {
    let guide =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/models.md"))
            .unwrap();
    let blocks = |kind: &str| -> Vec<String> {
        let start = format!("```{kind}\n");
        guide.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
    };
    let (settings, scripts) = (blocks("toml"), blocks("yaml"));
    assert!(settings.len() >= 2 && !scripts.is_empty());
    for text in settings {
        let env = env();
        own_settings(&env, &text);
        let list = env.fugato("config list").exits(0);
        assert_eq!(list.stderr, "", "{text}");
        let keys = text.lines().filter(|line| line.contains(" = ")).count();
        let set = env.fugato("config list --json").exits(0).json();
        let set = set["settings"].as_array().unwrap().iter();
        assert_eq!(set.filter(|setting| setting["origin"]["layer"] == "user").count(), keys, "{text}");
    }
    for text in scripts {
        let env = plain_skill();
        env.write("m.yaml", &text);
        env.fugato("run greet --model script:m.yaml").exits(0).says(&["everything else"]);
    }
}
