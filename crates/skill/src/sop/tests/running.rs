//! How a program runs: levels, what failures and cancellations do to the rest, budgets, answers.

use super::*;
use crate::sop::{Answer, Halt, NotRunning, Value};
use std::sync::Arc;

#[test]
fn a_level_starts_when_all_of_the_one_before_has_ended() {
    let mut interpreter = start("@b emit 1\n@a emit 2\n@c join $a");
    let first = interpreter.ready();
    assert_eq!(first.iter().map(|command| &*command.name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(interpreter.ready(), []);
    assert_eq!(interpreter.running().map(|name| &**name).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(value(&interpreter, "a"), "undefined:command is running");
    assert_eq!(value(&interpreter, "c"), "undefined:waiting for a");
    interpreter.finished("a", Outcome::Success("x".into())).unwrap();
    assert_eq!(interpreter.ready(), []);
    assert!(!interpreter.is_finished());
    interpreter.finished("b", Outcome::NoResponse).unwrap();
    assert_eq!(interpreter.ready()[0].arguments, [Arc::from("x")]);
}

#[test]
fn an_outcome_is_taken_once_and_only_for_what_runs() {
    let mut interpreter = start("@a emit 1\n@b join $a");
    let refused = |name: &str| Err(NotRunning { name: name.to_owned() });
    assert_eq!(interpreter.finished("a", Outcome::NoResponse), refused("a"));
    interpreter.ready();
    assert_eq!(interpreter.finished("b", Outcome::NoResponse), refused("b"));
    assert_eq!(interpreter.finished("nobody", Outcome::NoResponse), refused("nobody"));
    assert_eq!(interpreter.finished("a", Outcome::NoResponse), Ok(()));
    assert_eq!(interpreter.finished("a", Outcome::NoResponse), refused("a"));
}

#[test]
fn canceled_wins_over_failed_whichever_comes_first() {
    for text in [
        "@f fail r\n@c cancel stop\n@x join $f $c",
        "@x join $f $late\n@f fail r\n@one emit 1\n@c cancel $one\n@late join $c",
        "@x join $n $c $f\n@n none\n@f fail r\n@c cancel stop",
    ] {
        let interpreter = ran(text);
        assert!(value(&interpreter, "x").starts_with("canceled:because "), "{text}");
    }
}

#[test]
fn a_chain_of_cancellations_names_the_first_reason_and_its_neighbour() {
    let interpreter = ran("@a cancel stop\n@b join $a\n@c join $b x\n@d assign $c");
    assert_eq!(value(&interpreter, "a"), "canceled:stop");
    assert_eq!(value(&interpreter, "b"), "canceled:because stop via a");
    assert_eq!(value(&interpreter, "c"), "canceled:because stop via b");
    assert_eq!(value(&interpreter, "d"), "canceled:because stop via c");
}

#[test]
fn what_waits_names_the_first_of_its_arguments_without_a_value() {
    let interpreter = ran("@x join $ok $n $f\n@f fail r\n@n none\n@ok emit 1\n@y join $x");
    assert_eq!(value(&interpreter, "x"), "undefined:waiting for n");
    assert_eq!(value(&interpreter, "y"), "undefined:waiting for x");
}

#[test]
fn reasons_that_were_not_given_are_made_up_from_the_command() {
    assert_eq!(value(&ran("@a fail"), "a"), "fail:command fail failed (no reason provided)");
    assert_eq!(value(&ran("@a cancel ''"), "a"), "canceled:command cancel canceled (no reason provided)");
}

#[test]
fn a_value_is_passed_on_and_not_copied() {
    let mut interpreter = start("@a emit\n@b assign $a\n@c join $b $a\n@d final_answer $b");
    interpreter.ready();
    let text: Arc<str> = "large".repeat(1_000).into();
    interpreter.finished("a", Outcome::Success(Arc::clone(&text))).unwrap();
    let commands = interpreter.ready();
    assert_eq!(commands.len(), 1);
    assert!(commands[0].arguments.iter().all(|argument| Arc::ptr_eq(argument, &text)));
    let Some(Value::Success(passed)) = interpreter.value("d") else { panic!() };
    assert!(Arc::ptr_eq(&passed, &text));
}

#[test]
fn the_answer_is_the_last_final_answer_else_why_there_is_none() {
    let answer = |text: &str| ran(text).answer();
    assert_eq!(answer("@a emit x"), None);
    let is = |name: &str, text: &str| Some(Answer::Final { name: name.into(), text: text.into() });
    assert_eq!(answer("@a emit x\n@r final_answer the $a"), is("r", "the x"));
    assert_eq!(answer("@r final_answer 1\n@s final_answer 2\n@f fail x\n@t final_answer $f"), is("s", "2"));
    assert_eq!(answer("@r final_answer\ntwo\nlines"), is("r", "two\nlines"));
    assert_eq!(answer("@c cannot_complete no\n@r final_answer yes"), is("r", "yes"));
    let not = ran("@c cannot_complete no 'skill for that'\n@d join $c");
    let reason: Arc<str> = "no skill for that".into();
    assert_eq!(not.answer(), Some(Answer::CannotComplete { name: "c".into(), reason }));
    assert_eq!(value(&not, "c"), "fail:no skill for that");
    assert_eq!(value(&not, "d"), "undefined:waiting for c");
    assert_eq!(not.failed().count(), 1);
}

#[test]
fn a_hundred_commands_and_not_one_more() {
    let text: String =
        (0..150).map(|n| format!("@v{n:03} emit {n}\n")).collect::<String>() + "@w assign free";
    let mut interpreter = start(&text);
    assert_eq!(run(&mut interpreter).len(), 100);
    assert_eq!(interpreter.halted(), Some(&Halt::Commands { limit: 100 }));
    assert_eq!(value(&interpreter, "v099"), "99");
    assert_eq!(value(&interpreter, "v100"), "undefined:halted: the program may run 100 commands");
    interpreter.renew(Budget::default());
    assert_eq!(run(&mut interpreter).len(), 50);
    assert_eq!((interpreter.halted(), interpreter.commands_started()), (None, 50));
    assert_eq!(value(&interpreter, "w"), "free");
}

#[test]
fn prompts_are_counted_in_characters_over_the_whole_program() {
    let budget = Budget { prompt_chars: 9, ..Budget::default() };
    let mut fits = Interpreter::new(program("@a emit 技能 x\n@b join $a 三个"), budget);
    assert_eq!(run(&mut fits).len(), 2);
    assert_eq!(fits.halted(), None);
    let mut halts = Interpreter::new(program("@a emit 技能 x\n@b join $a 三个字"), budget);
    assert_eq!(run(&mut halts).len(), 1);
    assert_eq!(halts.halted(), Some(&Halt::PromptChars { limit: 9 }));
}

#[test]
fn a_command_that_fails_ten_times_halts_the_program() {
    let text: String = (0..12).map(|n| format!("@v{n:02} fail r{n}\n@w{n:02} emit 1\n")).collect();
    let mut interpreter = start(&(text.clone() + "@x join $w00"));
    run(&mut interpreter);
    assert_eq!(interpreter.halted(), Some(&Halt::Failures { command: "fail".into(), limit: 10 }));
    assert_eq!(interpreter.failed().count(), 12);
    assert_eq!(value(&interpreter, "x"), "undefined:halted: command fail failed 10 times");
    // A plan without that command can go on; one with it cannot.
    interpreter.update(program(&(text.clone() + "@x join $w00"))).unwrap();
    assert_eq!(run(&mut interpreter), ["join 1"]);
    interpreter.update(program(&(text + "@y fail again\n@x join $w00"))).unwrap();
    assert_eq!(run(&mut interpreter), Vec::<String>::new());
    assert!(interpreter.halted().is_some());
}

#[test]
fn nine_failures_do_not_halt() {
    let text: String = (0..9).map(|n| format!("@v{n} fail r\n")).collect();
    assert_eq!(ran(&text).halted(), None);
}

#[test]
fn texts_that_double_end_in_a_failure_and_not_in_all_memory() {
    let mut text = "@v0 assign 0123456789abcdef\n".to_owned();
    for n in 1..60 {
        text.push_str(&format!("@v{n} assign $v{} $v{}\n", n - 1, n - 1));
    }
    let interpreter = ran(&text);
    let (name, failed) = interpreter.failed().next().unwrap();
    assert!(failed.to_string().starts_with("fail:joined texts would have more than"), "{failed}");
    assert_eq!(&**name, "v21");
}

#[test]
fn a_long_chain_and_a_wide_level_need_no_stack() {
    let mut text = "@v0 fail r\n".to_owned();
    for n in 1..20_000 {
        text.push_str(&format!("@v{n} join $v{}\n", n - 1));
    }
    let interpreter = ran(&text);
    assert_eq!(value(&interpreter, "v19999"), "undefined:waiting for v19998");
}

#[test]
fn a_program_is_taken_up_again_with_what_its_commands_gave() {
    let text = "@a emit 1\n@b fail r\n@c join $a\n@d join $b\n@e cancel x\n@f join $e";
    let before = ran(text);
    let mut after = Interpreter::resume(program(text), Budget::default(), |name| before.value(name));
    assert_eq!(run(&mut after), Vec::<String>::new());
    assert!(before.values().eq(after.values()));
    let mut half = Interpreter::resume(program(text), Budget::default(), |name| {
        before.value(name).filter(|_| matches!(name, "a" | "b" | "f"))
    });
    assert_eq!(run(&mut half), ["join 1", "cancel x"]);
    assert!(before.values().eq(half.values()));
}
