//! What this machine can do to close in commands of agents, and what therefore holds here.

use super::{Finding, Health};
use crate::app::App;
use crate::runs::{SandboxArgs, sandbox, state};
use fugato_model::{Lang, Words, words};
use fugato_runtime::sandbox::{Bubblewrap, Machine, Report, Sandbox};

pub struct Look {
    sandbox: Sandbox,
    report: Report,
    /// The log of runs lies where commands may write.
    exposed: Option<String>,
}

pub fn look(app: &App) -> Look {
    let sandbox = sandbox(&SandboxArgs::default(), app);
    let report = sandbox.report();
    let state = state(app);
    let exposed = state.starts_with(&app.places.cwd).then(|| app.show_path(&state));
    Look { sandbox, report, exposed }
}

impl Look {
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![self.means()];
        let listed = |list: &[Words], lang| {
            list.iter().map(|words| words.in_lang(lang)).collect::<Vec<_>>().join("; ")
        };
        let both = |list: &[Words]| (listed(list, Lang::En), listed(list, Lang::Zh).replace("; ", "；"));
        if !self.report.enforced.is_empty() {
            let (en, zh) = both(&self.report.enforced);
            let words = words!("commands are held to: {en}", "对命令的限制：{zh}");
            findings.push(Finding { name: "sandbox-enforced", health: Health::Ok, words });
        }
        if !self.report.open.is_empty() {
            let (en, zh) = both(&self.report.open);
            let health = if self.report.backend == "none" { Health::Warning } else { Health::Ok };
            let words = words!("left open to commands: {en}", "对命令仍开放：{zh}");
            findings.push(Finding { name: "sandbox-open", health, words });
        }
        if let Some(shown) = &self.exposed {
            let words = words!(
                "the log of runs ({shown}) lies inside the project, where commands may write; put it elsewhere (FUGATO_HOME, HARNESS_DIR)",
                "运行日志（{shown}）位于项目内，命令可以写入；请移到别处（FUGATO_HOME、HARNESS_DIR）"
            );
            findings.push(Finding { name: "sandbox-state", health: Health::Warning, words });
        }
        findings
    }

    pub fn document(&self, lang: Lang) -> serde_json::Value {
        let machine = Machine::current();
        let bubblewrap = match machine.bubblewrap() {
            Bubblewrap::Works(program) => Some(program.display().to_string()),
            Bubblewrap::Missing | Bubblewrap::Broken(_) => None,
        };
        let listed =
            |list: &[Words]| list.iter().map(|words| words.in_lang(lang).to_owned()).collect::<Vec<_>>();
        serde_json::json!({
            "backend": self.report.backend, "landlock": machine.landlock, "seccomp": machine.seccomp,
            "bubblewrap": bubblewrap, "enforced": listed(&self.report.enforced), "open": listed(&self.report.open),
        })
    }

    /// What there is, and which of it is used.
    fn means(&self) -> Finding {
        let machine = Machine::current();
        let landlock = match machine.landlock {
            Some(version) => words!("Landlock version {version}", "Landlock 版本 {version}"),
            None => words!("no Landlock", "没有 Landlock"),
        };
        let seccomp = if machine.seccomp {
            words!("seccomp", "seccomp")
        } else {
            words!("no seccomp", "没有 seccomp")
        };
        let bubblewrap = match machine.bubblewrap() {
            Bubblewrap::Works(_) => words!("bubblewrap", "bubblewrap"),
            Bubblewrap::Missing => words!("no bubblewrap", "没有 bubblewrap"),
            Bubblewrap::Broken(why) => {
                words!("bubblewrap does not work ({why})", "bubblewrap 无法工作（{why}）")
            }
        };
        let en = [&landlock, &seccomp, &bubblewrap].map(|words| words.en.as_str()).join(", ");
        let zh = [&landlock, &seccomp, &bubblewrap].map(|words| words.zh.as_str()).join("、");
        let (health, words) = match (self.sandbox.refusal(), self.report.backend) {
            (Some(refusal), _) => {
                let (why_en, why_zh) = (&refusal.en, &refusal.zh);
                (
                    Health::Warning,
                    words!(
                        "sandbox: {en}. Commands and scripts are {why_en}",
                        "沙箱：{zh}。命令和脚本{why_zh}"
                    ),
                )
            }
            (None, "none") => (
                Health::Warning,
                words!(
                    "sandbox: switched off by `sandbox.backend`; this machine has {en}",
                    "沙箱：已由 `sandbox.backend` 关闭；本机有 {zh}"
                ),
            ),
            (None, backend) => (Health::Ok, words!("sandbox: {backend} ({en})", "沙箱：{backend}（{zh}）")),
        };
        Finding { name: "sandbox", health, words }
    }
}
