//! Random texts and random programs, against a model that is too simple to be wrong.

use super::*;
use crate::fixture::{cases, one_in};
use crate::sop::NotUpdated;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// One declaration of a random program: what it runs, and the words and references it is given.
#[derive(Clone, Debug, PartialEq)]
struct Random {
    command: &'static str,
    arguments: Vec<Result<String, usize>>,
}

const COMMANDS: [&str; 8] = ["join", "join", "emit", "assign", "assign", "fail", "cancel", "none"];

fn declaration() -> impl Strategy<Value = Random> {
    let argument = prop_oneof![
        2 => "[a-z#$@\"' \\\\\n\t\r技-]{0,4}".prop_map(Ok),
        3 => (0usize..12).prop_map(Err)
    ];
    (prop::sample::select(COMMANDS.to_vec()), prop::collection::vec(argument, 0..4))
        .prop_map(|(command, arguments)| Random { command, arguments })
}

/// Declarations by name. References are to names before one's own, so that there are no cycles; those to names that are
/// not declared are left out.
fn declarations() -> impl Strategy<Value = BTreeMap<usize, Random>> {
    prop::collection::btree_map(0usize..12, declaration(), 0..10).prop_map(|mut all| {
        let names: BTreeSet<usize> = all.keys().copied().collect();
        for (name, declaration) in &mut all {
            declaration
                .arguments
                .retain(|argument| argument.as_ref().err().is_none_or(|to| to < name && names.contains(to)));
        }
        all
    })
}

/// The variable of a number; not in the order of the numbers.
fn name(number: usize) -> String {
    format!("{}{number}", ["m", "b", "x", "c"][number % 4])
}

fn quoted(text: &str) -> String {
    let mut quoted = "'".to_owned();
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\'' | '\\' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted + "'"
}

/// In the order of `keys`, which may be any.
fn text(all: &BTreeMap<usize, Random>, keys: &[usize]) -> String {
    let mut lines = Vec::new();
    for key in keys.iter().filter(|key| all.contains_key(key)) {
        let arguments = all[key].arguments.iter().map(|argument| match argument {
            Ok(text) => format!(" {}", quoted(text)),
            Err(to) => format!(" ${}", name(*to)),
        });
        lines.push(format!("@{} {}{}", name(*key), all[key].command, arguments.collect::<String>()));
    }
    lines.join("\n")
}

/// The model: values in the order of the numbers, each from those before it. `None` is "no command was run for it".
fn model(all: &BTreeMap<usize, Random>) -> BTreeMap<String, (String, bool)> {
    let mut values: BTreeMap<usize, (String, bool, Option<String>)> = BTreeMap::new();
    for (key, declaration) in all {
        let needs: Vec<usize> =
            declaration.arguments.iter().filter_map(|argument| argument.as_ref().err().copied()).collect();
        let canceled = needs.iter().find(|to| values[to].0.starts_with("canceled:"));
        let missing = needs.iter().find(|to| !values[to].1);
        let value = if let Some(to) = canceled {
            let reason = values[to].2.clone().unwrap();
            (format!("canceled:because {reason} via {}", name(*to)), false, Some(reason))
        } else if let Some(to) = missing {
            (format!("undefined:waiting for {}", name(*to)), false, None)
        } else {
            let words: Vec<String> = declaration
                .arguments
                .iter()
                .map(|argument| argument.clone().unwrap_or_else(|to| values[&to].0.clone()))
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match (declaration.command, registry(declaration.command, &words)) {
                ("assign", _) => (words.join(" "), true, None),
                (_, Outcome::Success(text)) => (text.to_string(), true, None),
                (_, Outcome::NoResponse) => ("undefined:command returned no response".into(), false, None),
                (command, outcome) => {
                    let shown = outcome.into_value(command).to_string();
                    let reason = shown.strip_prefix("canceled:").map(str::to_owned);
                    (shown, false, reason)
                }
            }
        };
        values.insert(*key, value);
    }
    values.into_iter().map(|(key, (shown, is_success, _))| (name(key), (shown, is_success))).collect()
}

fn values(interpreter: &Interpreter) -> BTreeMap<String, (String, bool)> {
    interpreter
        .values()
        .map(|(name, value)| (name.to_string(), (value.to_string(), value.success().is_some())))
        .collect()
}

/// Runs to the end, ending the commands of a level in the order that `picks` chooses. The names run, level by level.
fn run_in_any_order(interpreter: &mut Interpreter, picks: &[usize]) -> Vec<Vec<String>> {
    let mut levels = Vec::new();
    loop {
        let mut commands = interpreter.ready();
        if commands.is_empty() {
            return levels;
        }
        levels.push(commands.iter().map(|command| command.name.to_string()).collect());
        for pick in picks.iter().cycle() {
            if commands.is_empty() {
                break;
            }
            let command = commands.swap_remove(pick % commands.len());
            assert_eq!(interpreter.ready(), []);
            interpreter.finished(&command.name, answer(&command)).unwrap();
        }
    }
}

fn order() -> impl Strategy<Value = Vec<usize>> {
    Just((0..12).collect::<Vec<usize>>()).prop_shuffle()
}

fn free() -> Budget {
    Budget { failures: usize::MAX, ..Budget::default() }
}

/// Names whose declarations are the same in both, and so are those of all they depend on.
fn same_in_both(old: &BTreeMap<usize, Random>, new: &BTreeMap<usize, Random>) -> BTreeSet<String> {
    let mut same: BTreeSet<usize> = BTreeSet::new();
    for (key, declaration) in new {
        let needs_same = declaration.arguments.iter().all(|argument| match argument {
            Ok(_) => true,
            Err(to) => same.contains(to),
        });
        if needs_same && old.get(key) == Some(declaration) {
            same.insert(*key);
        }
    }
    same.into_iter().map(name).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_text_is_a_program_or_has_errors_with_places(
        text in "((@|\\$|#|\"|'|\\\\|--begin-x--|--end-x--)|[ab]| |\r?\n|assign|é|\u{feff}){0,40}",
        before in "[a\n]{0,5}",
    ) {
        let file = format!("{before}{text}\nafter");
        let part = crate::Place::new(before.len(), before.len() + text.len());
        let lines = text.matches('\n').count() + before.matches('\n').count() + 1;
        match Program::parse_inside(&file, part, &|_| None) {
            Ok(program) => {
                prop_assert_eq!(program.levels().iter().map(Vec::len).sum::<usize>(), program.len());
                let printed = program.to_string();
                prop_assert_eq!(Program::parse(&printed), Ok(program));
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in errors {
                    prop_assert!(part.start <= error.place.start && error.place.start <= error.place.end);
                    prop_assert!(error.place.end <= part.end, "{:?}", error);
                    prop_assert!(error.line as usize <= lines);
                    prop_assert!(error.diagnostic("x", &file).message.zh != error.to_string());
                }
            }
        }
    }

    #[test]
    fn what_is_printed_reads_as_the_same_program(all in declarations(), keys in order()) {
        let program = Program::parse(&text(&all, &keys)).unwrap();
        for declaration in program.declarations() {
            let key = (0..12).find(|key| name(*key) == *declaration.name).unwrap();
            prop_assert_eq!(declaration.arguments.len(), all[&key].arguments.len());
        }
        let again = Program::parse(&program.to_string()).unwrap();
        prop_assert_eq!(&again, &program);
        prop_assert_eq!(again.to_string(), program.to_string());
    }

    #[test]
    fn a_program_ends_as_the_model_says_whoever_is_faster(
        all in declarations(),
        keys in order(),
        picks in prop::collection::vec(0usize..8, 1..5),
    ) {
        let parsed = Program::parse(&text(&all, &keys)).unwrap();
        let mut interpreter = Interpreter::new(parsed.clone(), free());
        let ran = run_in_any_order(&mut interpreter, &picks);
        prop_assert!(interpreter.is_finished() && interpreter.halted().is_none());
        prop_assert_eq!(values(&interpreter), model(&all));
        // The same levels whoever is faster, and those that the program itself says.
        let mut other = Interpreter::new(parsed.clone(), free());
        prop_assert_eq!(&run_in_any_order(&mut other, &[0]), &ran);
        let ran_at_all: BTreeSet<&String> = ran.iter().flatten().collect();
        let mut levels: Vec<Vec<String>> = parsed
            .levels()
            .into_iter()
            .map(|level| level.iter().map(|found| found.name.to_string()).collect::<Vec<_>>())
            .collect();
        for level in &mut levels {
            level.retain(|name| ran_at_all.contains(name));
        }
        levels.retain(|level| !level.is_empty());
        prop_assert_eq!(levels, ran);
    }

    #[test]
    fn an_update_ends_as_from_scratch_and_repeats_nothing(
        old in declarations(),
        other in declarations(),
        taken in prop::collection::btree_set(0usize..12, 0..12),
        keys in (order(), order()),
        in_order in any::<bool>(),
    ) {
        // A new program that has some declarations of the old one and some others.
        let mut new: BTreeMap<usize, Random> = other;
        for (key, declaration) in old.iter().filter(|(key, _)| taken.contains(key)) {
            new.insert(*key, declaration.clone());
        }
        let names: BTreeSet<usize> = new.keys().copied().collect();
        for declaration in new.values_mut() {
            declaration.arguments.retain(|argument| argument.as_ref().err().is_none_or(|to| names.contains(to)));
        }
        let mut interpreter = Interpreter::new(Program::parse(&text(&old, &keys.0)).unwrap(), free());
        run_in_any_order(&mut interpreter, &[1]);
        let before = values(&interpreter);
        let new_text = text(&new, if in_order { &keys.0 } else { &keys.1 });
        let mut whole = interpreter.clone();
        let change = interpreter.update_to(&new_text).unwrap();
        prop_assert_eq!(&change, &whole.update(Program::parse(&new_text).unwrap()).unwrap());
        prop_assert!(interpreter == whole);
        assert_same_places(interpreter.program(), whole.program());
        let ran: BTreeSet<String> = run_in_any_order(&mut interpreter, &[0]).into_iter().flatten().collect();
        prop_assert_eq!(values(&interpreter), model(&new));
        let after = values(&interpreter);
        let same = same_in_both(&old, &new);
        prop_assert!(ran.is_disjoint(&same), "{:?} {:?}", ran, same);
        for stays in &same {
            prop_assert_eq!(before.get(stays), after.get(stays));
        }
        let to_run: BTreeSet<String> = change.to_run.iter().map(ToString::to_string).collect();
        let others = new.keys().map(|key| name(*key)).filter(|name| !same.contains(name));
        prop_assert_eq!(to_run, others.collect::<BTreeSet<_>>());
        let mut scratch = Interpreter::new(Program::parse(&text(&new, &keys.0)).unwrap(), free());
        let all: BTreeSet<String> = run_in_any_order(&mut scratch, &[0]).into_iter().flatten().collect();
        prop_assert_eq!(ran, all.difference(&same).cloned().collect::<BTreeSet<_>>());
        let gone = old.keys().filter(|key| !new.contains_key(key)).map(|key| name(*key));
        prop_assert_eq!(
            change.dropped.iter().map(ToString::to_string).collect::<BTreeSet<_>>(),
            gone.collect::<BTreeSet<_>>()
        );
    }
}

/// A piece of a program's text: whole declarations, halves of them, and everything that stands between.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0usize..6, prop::sample::select(COMMANDS.to_vec()), prop::collection::vec(0usize..8, 0..3)).prop_map(
            |(own, command, others)| {
                let others = others.iter().map(|to| if *to < 6 { format!(" $v{to}") } else { format!(" w{to}") });
                format!("@v{own} {command}{}\n", others.collect::<String>())
            }
        ),
        1 => Just("# said\n".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("more text\r\n".to_owned()),
        1 => Just("@v6 assign\n\n--begin-x--\n@v7 emit\n--end-x--\n".to_owned()),
        1 => "(@|\\$|#|\"|--begin-x--|--end-x--|é|\n|assign| |v[0-7]|\u{feff}){1,4}",
    ]
}

fn any_program() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(piece(), 0..10)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_text_that_is_edited_again_and_again_is_what_it_is_when_read_whole(
        first in any_program(),
        edits in prop::collection::vec((0.0f64..1.0, 0.0f64..1.0, any_program(), any::<bool>()), 1..8),
    ) {
        let mut text: String = first.concat();
        let mut interpreter = Interpreter::new(Program::parse(&text).unwrap_or_default(), free());
        for (from, len, new, runs) in edits {
            // Some edits cut lines and characters in half.
            let mut bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            if runs {
                bounds.retain(|at| *at == 0 || text.get(..*at).is_some_and(|it| it.ends_with('\n')));
            }
            let from = ((bounds.len() - 1) as f64 * from) as usize;
            let to = from + ((bounds.len() - 1 - from) as f64 * len * len) as usize;
            let mut edited = text.clone();
            edited.replace_range(bounds[from]..bounds[to], &new.concat());
            let mut whole = interpreter.clone();
            let expected = Program::parse(&edited).map_err(NotUpdated::Wrong).map(|program| whole.update(program).unwrap());
            prop_assert_eq!(interpreter.update_to(&edited), expected.clone());
            prop_assert!(interpreter == whole);
            if expected.is_ok() {
                assert_same_places(interpreter.program(), whole.program());
                prop_assert_eq!(&Program::parse(&edited).unwrap(), interpreter.program());
                text = edited;
            }
            if runs {
                prop_assert_eq!(run_in_any_order(&mut interpreter, &[1]), run_in_any_order(&mut whole, &[0, 2]));
                prop_assert!(interpreter == whole);
                prop_assert_eq!(values(&interpreter), values(&whole));
            }
        }
    }
}

proptest! {
    #![proptest_config(one_in(4))]

    #[test]
    fn any_references_are_checked_without_panic(
        references in prop::collection::vec((0usize..8, prop::collection::vec(0usize..9, 0..4)), 0..10),
    ) {
        let lines = references.iter().map(|(own, others)| {
            format!("@v{own} join{}\n", others.iter().map(|to| format!(" $v{to}")).collect::<String>())
        });
        let text: String = lines.collect();
        if let Ok(program) = Program::parse(&text) {
            let mut interpreter = Interpreter::new(program, Budget::default());
            run(&mut interpreter);
            prop_assert!(interpreter.values().all(|(_, value)| value.success().is_some()));
        }
    }
}
