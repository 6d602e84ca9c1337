//! The bare programs as a binary of their own, so that none of fugato is in it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
    match fugato_bench::bare_part(&borrowed) {
        Some(Ok(())) => ExitCode::SUCCESS,
        Some(Err(error)) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
        None => ExitCode::FAILURE,
    }
}

#[expect(clippy::print_stderr, reason = "this program's only words")]
fn say(text: &str) {
    eprintln!("fugato-bare: {text}");
}
