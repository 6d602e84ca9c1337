//! One task from start to end: starts the host, hands its lines to its reader, watches turns and silence, judges the end.

use super::lines::Lines;
use super::stream::{Reader, Story, Verdict};
use super::{Ending, Host, HostEnd, HostEvent, HostLimits, HostSession, HostTask, claude, codex, find};
use crate::process::{self, CancelToken, End, Finished, Spec, Stream};
use fugato_model::{Words, words};
use serde_json::Value;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// One argument of a Linux program holds 128 KiB; past half of that a long text goes another way.
const LONGEST_ARGUMENT: usize = 64 << 10;
/// The end of standard error is where the sentence that matters stands.
const TAIL_BYTES: usize = 16 << 10;
/// How often we look whether a host that has finished is still silent.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(super) async fn run(
    task: HostTask,
    cancel: CancelToken,
    on_event: &mut (dyn FnMut(HostEvent) + Send),
) -> HostEnd {
    let before = task.resume.clone().unwrap_or_default();
    let story = Story::after(before);
    let prepared = match prepare(&task) {
        Ok(prepared) => prepared,
        Err(words) => return end_of(&task, story, Ending::Failed(words), Duration::ZERO),
    };
    // Cancelled from outside, by the turn limit, or by silence after the last word.
    let stop = cancel.child_token();
    let mut listening = Listening::new(&task, story, stop.clone(), on_event);
    let last_word = listening.last_word.clone();
    let finished = {
        let mut on_output = |stream: Stream, bytes: &[u8]| match stream {
            Stream::Out => listening.hear(bytes),
            Stream::Err => listening.overhear(bytes),
        };
        let running = process::run(prepared.spec, stop.clone(), &mut on_output);
        let silence = last_word.silence();
        tokio::pin!(running);
        tokio::select! {
            finished = &mut running => finished,
            () = silence => {
                stop.cancel();
                running.await
            }
        }
    };
    drop(prepared.system_file);
    listening.close();
    let (story, tail) = (listening.story, listening.tail);
    let elapsed = finished.elapsed;
    let end = judge(&task, &story, &finished, &tail, &cancel);
    end_of(&task, story, end, elapsed)
}

struct Prepared {
    spec: Spec,
    /// Removed when the task is over.
    system_file: Option<tempfile::NamedTempFile>,
}

fn prepare(task: &HostTask) -> Result<Prepared, Words> {
    if task.prompt.trim().is_empty() {
        return Err(words!("the task is empty", "任务为空"));
    }
    let program = find::resolve(&task.program, &task.env)
        .ok_or_else(|| find::missing(task.host, &task.program.to_string_lossy()))?;
    let is_long = task.system.len() > LONGEST_ARGUMENT;
    let (mut prompt, mut system_file) = (task.prompt.clone(), None);
    let args = match task.host {
        Host::Claude => {
            if is_long {
                system_file = Some(system_in_a_file(&task.system)?);
            }
            claude::arguments(task, system_file.as_ref().map(tempfile::NamedTempFile::path))
        }
        // A continued session knows it already.
        Host::Codex if task.system.is_empty() || task.resume.is_some() => codex::arguments(task, None),
        Host::Codex if is_long => {
            prompt = format!("{}\n\n{prompt}", task.system);
            codex::arguments(task, None)
        }
        Host::Codex => codex::arguments(task, Some(&task.system)),
    };
    let mut spec = Spec::new(program, &task.cwd);
    spec.args = args;
    spec.env = task.env.clone();
    spec.stdin = Some(prompt.into_bytes());
    spec.time_limit = task.limits.time;
    spec.output_limit = task.limits.output_bytes;
    spec.kept_limit = 0;
    spec.grace = task.limits.grace;
    spec.log = task.log.clone();
    Ok(Prepared { spec, system_file })
}

/// Readable by its owner alone.
fn system_in_a_file(system: &str) -> Result<tempfile::NamedTempFile, Words> {
    let write = || {
        let mut file = tempfile::NamedTempFile::with_prefix("fugato-system-")?;
        file.write_all(system.as_bytes())?;
        Ok(file)
    };
    write().map_err(|error: std::io::Error| {
        words!("the system prompt cannot be written to a file: {error}", "无法将系统提示词写入文件：{error}")
    })
}

/// What hears the host's output.
struct Listening<'a> {
    lines: Lines,
    reader: Box<dyn Reader>,
    story: Story,
    max_turns: Option<u32>,
    stop: CancelToken,
    last_word: LastWord,
    limits: HostLimits,
    tail: Vec<u8>,
    on_event: &'a mut (dyn FnMut(HostEvent) + Send),
}

impl<'a> Listening<'a> {
    fn new(
        task: &HostTask,
        story: Story,
        stop: CancelToken,
        on_event: &'a mut (dyn FnMut(HostEvent) + Send),
    ) -> Self {
        let reader: Box<dyn Reader> = match task.host {
            Host::Claude => Box::<claude::Stream>::default(),
            Host::Codex => Box::<codex::Stream>::default(),
        };
        // Claude Code counts its turns itself, and ends with a last word.
        let max_turns = task.max_turns.filter(|_| task.host == Host::Codex);
        let lines = Lines::new(task.limits.line_bytes);
        Self {
            lines,
            reader,
            story,
            max_turns,
            stop,
            last_word: LastWord::new(),
            limits: task.limits,
            tail: Vec::new(),
            on_event,
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let (reader, story) = (&mut self.reader, &mut self.story);
        self.lines.take(bytes, &mut |line| understand(reader.as_mut(), line, story));
        self.settle();
    }

    fn overhear(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        // Cut now and then, not with every piece.
        if self.tail.len() > 2 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
    }

    /// Everything is gone: the last line, and calls that never ended.
    fn close(&mut self) {
        let (reader, story) = (&mut self.reader, &mut self.story);
        self.lines.finish(&mut |line| understand(reader.as_mut(), line, story));
        self.story.cut_off();
        if self.lines.passed_over > 0 {
            let count = self.lines.passed_over;
            self.story.notice(&format!("{count} line(s) of output were too long and passed over"));
        }
        self.settle();
    }

    fn settle(&mut self) {
        let patience = if self.story.has_background { self.limits.background } else { self.limits.linger };
        let is_last = self.story.verdict.is_some();
        self.last_word.until(is_last.then(|| Instant::now().checked_add(patience)).flatten());
        for event in self.story.events.drain(..) {
            (self.on_event)(event);
        }
        if self.max_turns.is_some_and(|most| self.story.steps > most) && self.story.verdict.is_none() {
            self.story.verdict = Some(Verdict::TurnLimit);
            self.stop.cancel();
        }
    }
}

fn understand(reader: &mut dyn Reader, line: &[u8], story: &mut Story) {
    match serde_json::from_slice::<Value>(line) {
        Ok(value) if value.is_object() => reader.read(&value, story),
        _ => story.garbage = story.garbage.saturating_add(1),
    }
}

/// Until when the host may stay silent, once its last word was said.
#[derive(Clone, Debug)]
struct LastWord(std::sync::Arc<std::sync::Mutex<Option<Instant>>>);

impl LastWord {
    fn new() -> Self {
        Self(std::sync::Arc::default())
    }

    fn until(&self, deadline: Option<Instant>) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = deadline;
    }

    /// Comes when that is over.
    async fn silence(&self) {
        loop {
            let deadline = *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// The host's own last word counts before how its process ended; without one, the process says what happened.
fn judge(task: &HostTask, story: &Story, finished: &Finished, tail: &[u8], cancel: &CancelToken) -> Ending {
    let title = task.host.title();
    match (&story.verdict, &finished.end) {
        (Some(Verdict::Done), _) => Ending::Done,
        (Some(Verdict::TurnLimit), _) => Ending::TurnLimit,
        // A host that is told to end may call that a failure.
        (_, End::Cancelled) if cancel.is_cancelled() => Ending::Cancelled,
        (Some(Verdict::Failed(why)), _) => {
            let why = sentence(why);
            Ending::Failed(words!("{title}: {why}", "{title}：{why}"))
        }
        (None, End::CouldNotStart(words)) => Ending::Failed(words.clone()),
        (None, End::Cancelled) => Ending::Cancelled,
        (None, End::TimedOut) => Ending::TimedOut,
        (None, End::OutputLimit) => {
            let bytes = task.limits.output_bytes;
            Ending::Failed(words!(
                "{title} wrote more than {bytes} bytes and was ended",
                "{title} 的输出超过 {bytes} 字节，已被终止"
            ))
        }
        (None, End::ProcessLimit) => Ending::Failed(words!(
            "{title} started too many processes and was ended",
            "{title} 启动的进程过多，已被终止"
        )),
        (None, End::MemoryLimit) => Ending::Failed(words!(
            "{title} took too much memory and was ended",
            "{title} 占用内存过多，已被终止"
        )),
        (None, End::Exited(code)) => Ending::Failed(no_result(task, story, tail, *code)),
        (None, End::Signalled(signal)) => Ending::Failed(words!(
            "{title} was ended by signal {signal} before its result",
            "{title} 在给出结果前被信号 {signal} 终止"
        )),
    }
}

fn no_result(task: &HostTask, story: &Story, tail: &[u8], code: i32) -> Words {
    let (title, name) = (task.host.title(), task.host.as_str());
    let said = story.last_error.clone().or_else(|| last_line(tail));
    let garbage = story.garbage;
    let (en, zh) = match (said, garbage) {
        (Some(said), _) => (format!(": {}", sentence(&said)), format!("：{}", sentence(&said))),
        (None, 0) => (String::new(), String::new()),
        (None, _) => (
            format!(": {garbage} line(s) of its output are not its stream format"),
            format!("：其输出中有 {garbage} 行不是其流格式"),
        ),
    };
    words!(
        "{title} ended with exit code {code} and without a result{en}; `fugato doctor` shows whether this version of `{name}` works",
        "{title} 以退出码 {code} 结束，没有给出结果{zh}；`fugato doctor` 可查看此版本的 `{name}` 是否可用"
    )
}

/// The last line with anything on it.
fn last_line(tail: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(tail);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// As much of somebody else's words as fits into a sentence, safe to show.
fn sentence(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(600).collect();
    plain.trim().to_owned()
}

fn end_of(task: &HostTask, story: Story, end: Ending, elapsed: Duration) -> HostEnd {
    let id = story.session.or_else(|| task.resume.as_ref().map(|session| session.id.clone()));
    let session = id.map(|id| HostSession { id, counted: story.before.counted.plus(story.usage) });
    HostEnd {
        end,
        text: story.text,
        session,
        usage: story.usage,
        micro_usd: story.micro_usd,
        steps: story.steps,
        elapsed,
    }
}
