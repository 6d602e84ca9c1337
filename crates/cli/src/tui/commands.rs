//! The same as command lines: what a key did, and what a view shows, for people who write scripts or share a terminal.

use super::model::{Model, View};
use crate::render::shell_word;
use fugato_engine::{Asked, Target, Verb};

pub fn directive(run: &str, verb: Verb, target: &Target, text: Option<&str>) -> String {
    let target = match target {
        Target::All => "all".to_owned(),
        Target::Agent(path) => shell_word(path.as_str()),
    };
    let verb = super::log::verb_word(verb);
    let text = text.map(|text| format!(" {}", shell_word(text))).unwrap_or_default();
    let intervene = if verb == "restart" { "" } else { "intervene " };
    format!("fugato {intervene}{verb} {target}{text} --run {run}")
}

pub fn sent(run: &str, to: &str, text: &str) -> String {
    format!("fugato send {} {} --run {run}", shell_word(to), shell_word(text))
}

pub fn answered(run: &str, question: u32, text: &str) -> String {
    format!("fugato answer {run} --question {question} {}", shell_word(text))
}

pub fn approved(run: &str, question: u32, answer: &str) -> String {
    let flags = match answer.split_once(':') {
        Some((_, why)) => format!(" --deny {}", shell_word(why.trim())),
        None if answer == "deny" => " --deny".to_owned(),
        None if answer == "always" => " --always".to_owned(),
        None => String::new(),
    };
    format!("fugato approve {run} --question {question}{flags}")
}

pub fn gone_on(run: &str) -> String {
    format!("fugato resume {run}")
}

/// What `y` copies: the last thing that was done while it stands on the status line, else what shows this view.
pub fn shown(model: &Model) -> String {
    if let Some(line) = model.status.as_ref().and_then(|status| status.line.clone()) {
        return line;
    }
    let Some(watched) = model.watched.as_ref().filter(|_| model.view != View::Runs) else {
        return match model.card() {
            Some(card) => format!("fugato watch {}", card.id),
            None => "fugato runs".to_owned(),
        };
    };
    let run = &watched.card.id;
    match model.view {
        View::Runs | View::Graph | View::Policy | View::Board => format!("fugato runs show {run}"),
        View::Timeline => format!("fugato trace {run}"),
        View::Events => format!("fugato events {run} --follow"),
        View::Agent => {
            let row = watched.talk.as_ref().and_then(|talk| watched.roster.rows.get(talk.row));
            let path = row.zip(watched.run.as_ref()).and_then(|(row, run)| row.path(run));
            match path {
                Some(path) => format!("fugato send {} TEXT --run {run}", shell_word(path)),
                None => format!("fugato events {run}"),
            }
        }
        View::Inbox => {
            let number = watched.questions().get(watched.chosen_question).copied();
            let asked = number.and_then(|number| watched.run.as_ref()?.questions.get(number as usize));
            match (number, asked.map(|question| question.about)) {
                (Some(number), Some(Asked::Permission { .. })) => approved(run, number, "allow"),
                (Some(number), _) => format!("fugato answer {run} --question {number} TEXT"),
                (None, _) => format!("fugato answer {run} TEXT"),
            }
        }
        View::Control => match watched.directive(watched.chosen_directive) {
            Some(own) => directive(run, own.verb, &own.target, own.text.as_deref()),
            None => format!("fugato events {run} --type 'directive.*'"),
        },
    }
}
