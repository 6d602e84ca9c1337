//! What a conversation shows of a request that ended or waits.

use super::Chat;
use crate::app::App;
use crate::error::Outcome;
use crate::printer::{paint, style};
use crate::render::shell_word;
use crate::runs::bill::bill;
use crate::runs::drive::{Left, exit_of};
use crate::runs::reporter::duration;
use crate::runs::summary::{answer, result_text, safe};
use fugato_engine::{Outcome as Ended, Run};
use fugato_model::{Exit, words};
use fugato_runtime::runs::End;
use std::io::IsTerminal as _;

impl Chat<'_> {
    pub(super) fn conclude(&self, run: &Run, left: Left, app: &mut App) -> Outcome {
        let exit = match (left, &run.ended) {
            (Left::Waiting(exit), _) => exit,
            (_, Some((outcome, ..))) => exit_of(*outcome),
            (Left::Over { end: End::Stopped, .. }, None) => Exit::Interrupted,
            (Left::Over { .. }, None) => Exit::Waiting,
        };
        if app.out.json {
            app.out.json(&self.document(run, app))?;
        } else if !self.args.how.jsonl {
            self.show(run, left, app)?;
        }
        Ok(exit)
    }

    fn show(&self, run: &Run, left: Left, app: &mut App) -> Result<(), crate::error::CliError> {
        let id = &run.spec.id;
        match (left, &run.ended) {
            // The question stands above; who types on a terminal sees the prompt next.
            (Left::Waiting(_), _) if self.is_at_a_prompt() => {}
            (Left::Waiting(_), _) => {
                let again = self.command();
                app.out.note(&words!(
                    "waiting for an answer. Answer now, tomorrow, from anywhere: {again} TEXT",
                    "等待回答。随时可以回答：{again} 内容"
                ));
            }
            (Left::Over { elapsed_ms, .. }, Some((outcome, reason, result))) => {
                let text = result.as_ref().map(|result| result_text(answer(run, result)));
                for line in text.iter().flat_map(|text| text.lines()) {
                    app.out.line(safe(line))?;
                }
                if *outcome != Ended::Complete {
                    let reason = fugato_model::escape_for_terminal(reason.in_lang(app.out.lang)).into_owned();
                    app.out.aside(&paint(style::BAD, reason));
                    app.out.note(&words!("look at it: fugato trace {id}", "查看：fugato trace {id}"));
                }
                let bill = bill(run);
                let bill = format!("{id} · {} · {}", duration(elapsed_ms), bill.in_lang(app.out.lang));
                app.out.aside(&paint(style::DIM, bill));
            }
            (Left::Over { .. }, None) => self.tell_left(app),
        }
        app.out.flush()
    }

    /// How to come back to what was left in the middle.
    pub(super) fn tell_left(&self, app: &mut App) {
        let again = self.command();
        app.out.note(&words!(
            "left as it is; what is done stays done. Go on: {again}",
            "已离开；已完成的部分会保留。继续：{again}"
        ));
    }

    /// The command that opens this conversation.
    pub(super) fn command(&self) -> String {
        // As it was typed: a path stays a path.
        let skill = shell_word(self.args.skill.as_deref().unwrap_or(&self.name));
        match self.args.session.as_str() {
            "default" => format!("fugato chat {skill}"),
            other => format!("fugato chat {skill} --session {}", shell_word(other)),
        }
    }

    fn is_at_a_prompt(&self) -> bool {
        self.args.message.is_empty() && std::io::stdin().is_terminal()
    }

    fn document(&self, run: &Run, app: &App) -> serde_json::Value {
        let lang = app.out.lang;
        let questions: Vec<_> = run
            .open_questions()
            .map(|(number, question)| {
                let text = run.question_words(number);
                serde_json::json!({"number": number, "text": text.in_lang(lang), "options": question.options})
            })
            .collect();
        let ended = run.ended.as_ref();
        let result = ended.and_then(|(_, _, result)| result.as_ref());
        serde_json::json!({
            "schema": "fugato.chat/v1",
            "conversation": self.args.session,
            "orchestrator": self.name,
            "run": run.spec.id,
            "status": run.status(),
            "answer": result.map(|result| answer(run, result)),
            "variables": result.filter(|result| answer(run, result) != *result).and_then(|all| all.get("variables")),
            "reason": ended.map(|(_, reason, _)| reason.in_lang(lang)),
            "questions": questions,
        })
    }
}
