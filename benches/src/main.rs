//! `fugato-bench [--small] [--only NAME]… [--json FILE] [--fugato FILE]`: measures, prints a table. `cargo xtask bench`
//! builds and calls it.

use fugato_bench::{Bench, BenchError, SCENARIOS, Sizes, document, part, table};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = part(&borrowed).unwrap_or_else(|| measure(&borrowed));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("fugato-bench: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// What was asked for.
struct Asked {
    sizes: Sizes,
    only: Vec<String>,
    json: Option<PathBuf>,
    fugato: PathBuf,
}

fn measure(words: &[&str]) -> Result<(), BenchError> {
    let own = std::env::current_exe()?;
    let beside = own.parent().map(PathBuf::from).unwrap_or_default();
    let asked = read(words, beside.join("fugato"))?;
    let bench = Bench::new(asked.sizes, &asked.fugato, &own, &beside.join("fugato-bare"))?;
    let mut figures = Vec::new();
    let wanted = |name: &str| asked.only.is_empty() || asked.only.iter().any(|only| only == name);
    for scenario in SCENARIOS.iter().filter(|scenario| wanted(scenario.name)) {
        say(&format!("measuring: {}", scenario.name));
        figures.extend((scenario.measure)(&bench)?);
    }
    if let Some(file) = &asked.json {
        std::fs::write(file, serde_json::to_vec_pretty(&document(&figures))?)?;
    }
    show(&table(&figures))?;
    for figure in figures.iter().filter(|figure| !figure.note.is_empty()) {
        show(&format!("· {}: {}\n", figure.name, figure.note))?;
    }
    Ok(())
}

fn read(words: &[&str], fugato: PathBuf) -> Result<Asked, BenchError> {
    let mut asked = Asked { sizes: Sizes::FULL, only: Vec::new(), json: None, fugato };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match *word {
            "--small" => asked.sizes = Sizes::SMALL,
            "--json" => asked.json = Some(value()?.into()),
            "--fugato" => asked.fugato = value()?.into(),
            "--only" => {
                let name = *value()?;
                if !SCENARIOS.iter().any(|scenario| scenario.name == name) {
                    let names: Vec<_> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
                    return Err(format!("there is no `{name}`; there are: {}", names.join(", ")).into());
                }
                asked.only.push(name.to_owned());
            }
            other => return Err(format!("`{other}` is not an option of this program").into()),
        }
    }
    Ok(asked)
}

#[expect(clippy::print_stderr, reason = "this program's words to the person who waits")]
fn say(text: &str) {
    eprintln!("{text}");
}

fn show(text: &str) -> Result<(), BenchError> {
    use std::io::Write as _;
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}
