//! Taking a shell command apart: which simple commands it runs, and whether that is surely all of them.
//!
//! It is no shell. Whatever it does not fully understand makes the answer uncertain, and an uncertain command is never
//! allowed by its beginning; the parts it did find still count for what is denied or asked.

use std::str::Chars;

/// The simple commands of a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Split {
    /// Each as its words, without quotes.
    pub commands: Vec<Vec<String>>,
    /// Further ways to read them: behind variables, behind programs that start programs.
    hidden: Vec<Vec<String>>,
    /// There are more ways than are worth listing: it may be anything.
    pub is_beyond: bool,
    /// Whether these are all, and nothing else happens (such as writing to a file).
    pub is_certain: bool,
}

/// Deeper nesting is not looked into.
const DEEPEST: usize = 16;
/// So many ways to read a command, and so many words of each: honest ones have a handful.
const MOST_WAYS: usize = 256;
const MOST_WORDS: usize = 256;

/// Programs that start what follows them.
const STARTERS: &[&str] = &[
    "sudo", "doas", "env", "nohup", "timeout", "time", "nice", "ionice", "command", "exec", "builtin",
    "xargs", "stdbuf", "setsid", "watch", "strace", "unshare", "chroot", "busybox", "parallel", "flock",
    "script", "su", "runuser",
];
/// Programs that run what they are told as text.
const INTERPRETERS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "eval", "su", "script", "watch", "ssh", "parallel"];
/// Words before a command that are none.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "time", "!", "{", "}", "[[",
];

pub(super) fn split(text: &str) -> Split {
    let mut split = Split { is_certain: true, ..Split::default() };
    scan(&mut text.chars(), None, 0, &mut split);
    let found: Vec<Vec<String>> = split.commands.clone();
    for words in found {
        look_behind(&words, 0, &mut split);
    }
    split
}

impl Split {
    fn hide(&mut self, words: impl Iterator<Item = String>) {
        self.is_beyond |= self.hidden.len() >= MOST_WAYS;
        if !self.is_beyond {
            self.hidden.push(words.take(MOST_WORDS).collect());
        }
    }

    /// Every way to read it, for a deny or an ask.
    pub fn ways(&self) -> impl Iterator<Item = &Vec<String>> {
        self.commands.iter().chain(&self.hidden)
    }
}

/// Where a word goes when it is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goes {
    Command,
    /// The target of `>`: a file that would be written.
    Written,
    /// The target of `<`, and what is meant for another descriptor.
    Read,
}

struct Words {
    words: Vec<String>,
    word: Option<String>,
    goes: Goes,
}

impl Words {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self, split: &mut Split) {
        let goes = std::mem::replace(&mut self.goes, Goes::Command);
        let Some(word) = self.word.take() else {
            // `> && x`: what is left out is not known.
            split.is_certain &= goes == Goes::Command;
            return;
        };
        match goes {
            Goes::Command => self.words.push(word),
            Goes::Written if word == "/dev/null" || word.chars().all(|c| c.is_ascii_digit() || c == '-') => {}
            Goes::Written => split.is_certain = false,
            Goes::Read => {}
        }
    }

    fn end_command(&mut self, split: &mut Split) {
        if self.word.is_some() || self.goes != Goes::Command {
            self.end_word(split);
        }
        let words = std::mem::take(&mut self.words);
        let keywords = words.iter().take_while(|word| KEYWORDS.contains(&word.as_str())).count();
        split.is_certain &= keywords == 0;
        let words: Vec<String> = words.into_iter().skip(keywords).collect();
        if !words.is_empty() {
            split.commands.push(words);
        }
    }
}

/// Reads commands until the text, or what is enclosed by `until`, ends.
fn scan(text: &mut Chars<'_>, until: Option<char>, depth: usize, split: &mut Split) {
    if depth > DEEPEST {
        split.is_certain = false;
        return;
    }
    let mut own = Words { words: Vec::new(), word: None, goes: Goes::Command };
    while let Some(c) = text.next() {
        match c {
            _ if until == Some(c) => {
                own.end_command(split);
                return;
            }
            '\'' => {
                own.word.get_or_insert_default();
                quoted(text, &mut own, split);
            }
            '"' => {
                own.word.get_or_insert_default();
                double_quoted(text, &mut own, depth, split);
            }
            '\\' => match text.next() {
                Some('\n') => {}
                Some(next) => own.push(next),
                None => split.is_certain = false,
            },
            '$' | '`' => expansion(c, text, &mut own, depth, split),
            ' ' | '\t' if own.word.is_some() => own.end_word(split),
            ' ' | '\t' => {}
            '#' if own.word.is_none() => {
                // To the end of the line, which is a separator of its own.
                let line = text.as_str().find('\n').unwrap_or(text.as_str().len());
                *text = text.as_str().get(line..).unwrap_or_default().chars();
            }
            '\n' | '\r' | ';' | '|' => own.end_command(split),
            '&' if text.as_str().starts_with('>') => {}
            '&' => own.end_command(split),
            '>' | '<' => redirection(c, text, &mut own, depth, split),
            '(' | ')' => {
                split.is_certain = false;
                own.end_command(split);
            }
            c if c.is_control() || (c.is_whitespace() && !c.is_ascii()) => {
                // Shells differ over these, and people cannot see them.
                split.is_certain = false;
                own.push(c);
            }
            c => own.push(c),
        }
    }
    split.is_certain &= until.is_none();
    own.end_command(split);
}

fn quoted(text: &mut Chars<'_>, own: &mut Words, split: &mut Split) {
    for c in text.by_ref() {
        if c == '\'' {
            return;
        }
        own.push(c);
    }
    split.is_certain = false;
}

fn double_quoted(text: &mut Chars<'_>, own: &mut Words, depth: usize, split: &mut Split) {
    while let Some(c) = text.next() {
        match c {
            '"' => return,
            '\\' => match text.next() {
                Some('\n') => {}
                Some(next) if "$`\"\\".contains(next) => own.push(next),
                Some(next) => {
                    own.push('\\');
                    own.push(next);
                }
                None => {}
            },
            '$' | '`' => expansion(c, text, own, depth, split),
            c => own.push(c),
        }
    }
    split.is_certain = false;
}

/// What the shell puts in the place of it is not known; what runs to find out is.
fn expansion(sign: char, text: &mut Chars<'_>, own: &mut Words, depth: usize, split: &mut Split) {
    own.push(sign);
    let rest = text.as_str();
    if sign == '`' {
        split.is_certain = false;
        scan(text, Some('`'), depth + 1, split);
    } else if rest.starts_with('(') {
        split.is_certain = false;
        text.next();
        scan(text, Some(')'), depth + 1, split);
    } else if rest.starts_with(['{', '\'', '"', '[']) {
        split.is_certain = false;
    }
}

fn redirection(sign: char, text: &mut Chars<'_>, own: &mut Words, depth: usize, split: &mut Split) {
    // `2>` is a descriptor, `a2>` a word before it.
    if own.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
        own.word = None;
    }
    if own.word.is_some() || own.goes != Goes::Command {
        own.end_word(split);
    }
    if text.as_str().starts_with('(') {
        split.is_certain = false;
        text.next();
        scan(text, Some(')'), depth + 1, split);
        return;
    }
    if sign == '<' && text.as_str().starts_with(['<', '>']) {
        // A document in the command, or a file that is read and written.
        split.is_certain = false;
    }
    while text.as_str().starts_with(['>', '<', '&', '|']) {
        text.next();
    }
    own.goes = if sign == '>' { Goes::Written } else { Goes::Read };
}

/// Finds what a command runs that it does not begin with. Reads too much rather than too little.
fn look_behind(words: &[String], depth: usize, split: &mut Split) {
    let is_assignment = |word: &String| {
        let name = word.split('=').next().unwrap_or_default();
        word.contains('=')
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_+".contains(c))
    };
    let assignments = words.iter().take_while(|word| is_assignment(word)).count();
    let words = words.get(assignments..).unwrap_or_default();
    let Some(first) = words.first() else { return };
    // `/bin/rm` is `rm`.
    let program = first.rsplit('/').next().unwrap_or_default().to_owned();
    if assignments > 0 || program != *first {
        split.hide(std::iter::once(program.clone()).chain(words.iter().skip(1).cloned()));
    }
    split.is_beyond |= depth >= DEEPEST;
    if split.is_beyond {
        return;
    }
    let rest = words.get(1..).unwrap_or_default();
    let starts = STARTERS.contains(&program.as_str());
    for (at, word) in rest.iter().enumerate() {
        let is_told = |word: &str| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word);
        if starts
            || at.checked_sub(1).and_then(|before| rest.get(before)).is_some_and(|before| is_told(before))
        {
            // Options have values, so every later word may be the program; the first few are enough.
            if at < 8 {
                let behind = rest.get(at..).unwrap_or_default();
                split.hide(behind.iter().cloned());
                let listed = |word: &str| STARTERS.contains(&word) || INTERPRETERS.contains(&word);
                if listed(word) || word.contains(['/', '=']) {
                    look_behind(behind, depth + 1, split);
                }
            }
        }
        if INTERPRETERS.contains(&program.as_str()) && word.contains(|c: char| c.is_whitespace() || c == ';')
        {
            let mut inner = Split { is_certain: true, ..Split::default() };
            scan(&mut word.chars(), None, depth + 1, &mut inner);
            for words in inner.commands {
                look_behind(&words, depth + 1, split);
                split.hide(words.into_iter());
            }
        }
    }
    if program == "eval" || INTERPRETERS.contains(&program.as_str()) {
        // Told word by word.
        split.hide(rest.iter().skip_while(|word| word.starts_with('-')).cloned());
    }
}
