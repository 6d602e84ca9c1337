//! Scripts of skills.

use super::*;
use fugato_model::{Code, RelPath};
use script::{BadEnd, ScriptFailure};
use std::os::unix::fs::{PermissionsExt as _, symlink};

struct Skill {
    project: Project,
    dir: PathBuf,
}

impl Skill {
    fn new() -> Self {
        let project = Project::new();
        let dir = project.temp.path().join("技能");
        std::fs::create_dir_all(dir.join("scripts")).unwrap();
        Self { project, dir }
    }

    fn put(&self, name: &str, text: &str, mode: u32) {
        let file = self.dir.join("scripts").join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    async fn run(&self, name: &str) -> Result<String, ScriptFailure> {
        let entry = RelPath::parse(&format!("scripts/{name}")).unwrap();
        let arguments = json!({"名": "值", "n": [1, 2]});
        script::run(&self.dir, &entry, &arguments, &self.project.context, CancelToken::new()).await
    }
}

#[tokio::test]
async fn scripts_get_their_arguments_and_give_their_output() {
    let skill = Skill::new();
    let expected = "{\"名\":\"值\",\"n\":[1,2]}";
    skill.put("direct", "#!/bin/sh\ncat\n", 0o755);
    skill.put("plain.sh", "cat\n", 0o644);
    skill.put("also.sh", "cat\n", 0o755);
    skill.put("p.py", "import json, sys\nprint(json.load(sys.stdin)['n'][1], end='')\n", 0o644);
    for name in ["direct", "plain.sh", "also.sh"] {
        assert_eq!(skill.run(name).await.as_deref(), Ok(expected), "{name}");
    }
    assert_eq!(skill.run("p.py").await.as_deref(), Ok("2"));
}

#[tokio::test]
async fn a_script_runs_in_the_project_and_knows_its_skill() {
    let skill = Skill::new();
    skill.put("where.sh", "pwd; echo \"$FUGATO_SKILL_DIR\"; dirname \"$0\"\n", 0o644);
    let text = skill.run("where.sh").await.unwrap();
    let real = |path: &Path| path.canonicalize().unwrap();
    let lines: Vec<_> = text.lines().map(|line| real(Path::new(line))).collect();
    assert_eq!(lines, [real(&skill.project.path(".")), real(&skill.dir), real(&skill.dir.join("scripts"))]);
}

#[tokio::test]
async fn a_failure_says_its_last_words_in_both_languages() {
    let skill = Skill::new();
    skill.put("bad.sh", "echo part; echo one >&2; printf 'last \\033[31mwords\\n\\n' >&2; exit 4\n", 0o644);
    let failure = skill.run("bad.sh").await.unwrap_err();
    let expected = ScriptFailure::Failed {
        entry: RelPath::parse("scripts/bad.sh").unwrap(),
        end: BadEnd::Exited(4),
        last_line: Some("last [31mwords".into()),
    };
    assert_eq!(failure, expected);
    assert_eq!(failure.code(), Some(Code::F0903));
    assert_eq!(failure.words().en, "the script `scripts/bad.sh` failed with exit code 4: last [31mwords");
    assert_eq!(failure.words().zh, "脚本 `scripts/bad.sh` 失败，退出码为 4：last [31mwords");
    skill.put("killed.sh", "kill -9 $$\n", 0o644);
    assert!(skill.run("killed.sh").await.unwrap_err().to_string().ends_with("was ended by signal 9"));
}

#[tokio::test]
async fn limits_hold_and_input_need_not_be_read() {
    let mut skill = Skill::new();
    skill.put("deaf.sh", "exit 0\n", 0o644);
    assert_eq!(skill.run("deaf.sh").await.as_deref(), Ok(""));
    skill.project.context.limits.output_bytes = 1000;
    skill.put("loud.sh", "yes\n", 0o644);
    let loud = skill.run("loud.sh").await.unwrap_err();
    assert!(
        matches!(loud, ScriptFailure::OutputLimit { bytes: 1000, .. }) && loud.code() == Some(Code::F0904)
    );
    skill.project.context.limits.time = Duration::from_millis(300);
    skill.put("slow.sh", "sleep 60\n", 0o644);
    assert!(matches!(skill.run("slow.sh").await, Err(ScriptFailure::TimedOut { .. })));
}

#[tokio::test]
async fn an_entry_must_be_a_runnable_file_of_the_skill() {
    let skill = Skill::new();
    skill.put("data.json", "{}", 0o644);
    skill.put("no-line", "echo", 0o755);
    std::fs::create_dir(skill.dir.join("scripts/dir.sh")).unwrap();
    symlink(skill.project.outside().join("secret.txt"), skill.dir.join("scripts/out.sh")).unwrap();
    symlink("/bin/ls", skill.dir.join("scripts/ls")).unwrap();
    let pipe = skill.dir.join("scripts/pipe.sh");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
    for (name, why) in [
        ("missing.sh", "does not exist"),
        ("data.json", "cannot be run"),
        ("no-line", "cannot be run"),
        ("dir.sh", "not a regular file"),
        ("pipe.sh", "not a regular file"),
        ("out.sh", "leads out of the skill"),
        ("ls", "leads out of the skill"),
    ] {
        let failure = skill.run(name).await.unwrap_err();
        assert!(
            failure.to_string().contains(why) && failure.code() == Some(Code::F0901),
            "{name}: {failure}"
        );
    }
    skill.put("interp", "#!/no/such/interpreter\n", 0o755);
    assert_eq!(skill.run("interp").await.unwrap_err().code(), Some(Code::F0902));
}

#[tokio::test]
async fn a_cancelled_script_says_so() {
    let skill = Skill::new();
    skill.put("slow.sh", "sleep 60\n", 0o644);
    let cancel = CancelToken::new();
    let token = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        token.cancel();
    });
    let entry = RelPath::parse("scripts/slow.sh").unwrap();
    let ended = script::run(&skill.dir, &entry, &json!(null), &skill.project.context, cancel).await;
    assert_eq!(ended, Err(ScriptFailure::Cancelled));
}

#[tokio::test]
async fn what_a_script_writes_is_heard_as_it_writes_it_and_a_flood_is_not() {
    let skill = Skill::new();
    skill.put("slow.sh", "printf '\\344\\275'; printf '\\240' ; echo one >&2; echo two\n", 0o644);
    skill.put("flood.sh", "yes 0123456789 | head -c 3000000\n", 0o644);
    let mut heard = String::new();
    let entry = |name: &str| RelPath::parse(&format!("scripts/{name}")).unwrap();
    let context = &skill.project.context;
    let hear = &mut |text: &str| heard.push_str(text);
    let (slow, flood) = (entry("slow.sh"), entry("flood.sh"));
    let said = script::run_heard(&skill.dir, &slow, &json!(null), context, CancelToken::new(), hear).await;
    assert_eq!(said.as_deref(), Ok("你two\n"));
    assert!(heard.contains('你') && heard.contains("one\n") && heard.contains("two\n"), "{heard}");
    heard.clear();
    let hear = &mut |text: &str| heard.push_str(text);
    let said = script::run_heard(&skill.dir, &flood, &json!(null), context, CancelToken::new(), hear).await;
    assert_eq!(said.map(|all| all.len()), Ok(3_000_000), "the result is whole");
    assert!(heard.len() < 300_000 && heard.ends_with("while it runs]\n"), "{}", heard.len());
}
