//! Secrets do not reach the journal: their values are replaced in everything that is written, in one pass.
//!
//! An event is a JSON document, in which a secret with quotes or line breaks looks different from its plain text, so the
//! escaped forms are searched there; and a replacement must leave the document valid.

use super::row::{Batch, NewRun};
use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// What stands where a secret stood. Not the beginning of any JSON: an answer that was only a secret stays a text.
const MARK: &[u8] = b"<redacted>";
/// Shorter values (`true`, `8080`) would blacken ordinary text.
const SHORTEST: usize = 8;
/// A line of a longer secret (a private key) that is printed alone.
const SHORTEST_LINE: usize = 20;

/// Finds secrets and removes them. Shows nothing of them itself.
pub struct Redactor {
    known: RwLock<Arc<Known>>,
}

/// The secrets known so far, in every form they are searched in.
#[derive(Default)]
struct Known {
    values: BTreeSet<String>,
    /// What is searched in plain text.
    forms: BTreeSet<String>,
    plain: Option<AhoCorasick>,
    json: Option<AhoCorasick>,
}

impl Redactor {
    /// The values of variables whose names sound secret, and given ones. What is shorter than 8 bytes is not searched.
    pub fn new<N, V>(
        variables: impl IntoIterator<Item = (N, V)>,
        given: impl IntoIterator<Item = String>,
    ) -> Self
    where
        N: AsRef<str>,
        V: Into<String>,
    {
        let named = variables.into_iter().filter(|(name, _)| sounds_secret(name.as_ref()));
        let values: BTreeSet<String> = named
            .map(|(_, value)| value.into())
            .chain(given)
            .map(|value| value.trim().to_owned())
            .filter(|value| value.len() >= SHORTEST)
            .collect();
        Self { known: RwLock::new(Arc::new(Known::of(values))) }
    }

    /// One more secret, from now on: a key that a command just printed.
    pub fn add(&self, secret: &str) {
        let secret = secret.trim();
        if secret.len() < SHORTEST || self.known().values.contains(secret) {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut values = known.values.clone();
        values.insert(secret.to_owned());
        *known = Arc::new(Known::of(values));
    }

    fn known(&self) -> Arc<Known> {
        // The value is replaced whole, so a poisoned one is as good.
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether there is nothing to remove.
    pub fn is_idle(&self) -> bool {
        self.known().values.is_empty()
    }

    /// How many bytes at the end of a text may be the beginning of a secret whose rest is still to come.
    pub fn held_back(&self, text: &str) -> usize {
        let known = self.known();
        let begins = |form: &String, length: usize| {
            form.as_bytes().get(..length).is_some_and(|begin| text.as_bytes().ends_with(begin))
        };
        let longest = known.forms.iter().map(String::len).max().unwrap_or(0).saturating_sub(1);
        let lengths = (1..=longest.min(text.len())).rev();
        lengths
            .into_iter()
            .find(|length| known.forms.iter().any(|form| form.len() > *length && begins(form, *length)))
            .unwrap_or(0)
    }

    /// The secrets of this process's environment.
    pub fn from_environment(given: impl IntoIterator<Item = String>) -> Self {
        let variables = std::env::vars_os()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        Self::new(variables, given)
    }

    /// A JSON document without the secrets of this process's environment. Looks first: hardly any document has one, and whoever
    /// asks lives for a millisecond.
    pub(crate) fn wash(document: &str) -> Cow<'_, str> {
        let variables = std::env::vars_os().filter(|(name, _)| sounds_secret(&name.to_string_lossy()));
        let is_mentioned = |value: &str| {
            let value = value.trim();
            let probe = value.lines().next().unwrap_or_default();
            // What is written otherwise in JSON is left to the long way.
            let is_plain = probe.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
            value.len() >= SHORTEST
                && (!is_plain || memchr::memmem::find(document.as_bytes(), probe.as_bytes()).is_some())
        };
        let mut values = variables.map(|(_, value)| value.to_string_lossy().into_owned());
        if !values.any(|value| is_mentioned(&value)) {
            return Cow::Borrowed(document);
        }
        match Self::from_environment(None).clean_json(document.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(document),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Plain text or bytes.
    pub fn clean<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let known = self.known();
        let Some(plain) = &known.plain else { return Cow::Borrowed(text) };
        let mut out = Vec::new();
        let mut copied = 0;
        for found in plain.find_iter(text) {
            out.extend_from_slice(text.get(copied..found.start()).unwrap_or_default());
            out.extend_from_slice(MARK);
            copied = found.end();
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    pub fn clean_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.clean(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// A JSON document stays one: inside a string a secret becomes a mark, a number becomes nines.
    pub fn clean_json<'t>(&self, document: &'t [u8]) -> Cow<'t, [u8]> {
        let known = self.known();
        let Some(json) = &known.json else { return Cow::Borrowed(document) };
        let mut walk = Walk::default();
        let mut out = Vec::new();
        let (mut copied, mut from) = (0, 0);
        while let Some(found) = json.find(Input::new(document).range(from..)) {
            let matched = document.get(found.range()).unwrap_or_default();
            let place = walk.to(document, found.start());
            let replacement = match place {
                Position::Text => MARK.to_vec(),
                Position::Structure if is_number(matched) => nines(matched),
                // The bytes only look like the secret: they are part of an escape or of the document's own signs.
                Position::Structure | Position::Escape => {
                    from = found.start() + 1;
                    continue;
                }
            };
            out.extend_from_slice(document.get(copied..found.start()).unwrap_or_default());
            out.extend_from_slice(&replacement);
            walk.to(document, found.end());
            (copied, from) = (found.end(), found.end());
        }
        if copied == 0 {
            return Cow::Borrowed(document);
        }
        out.extend_from_slice(document.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    pub(super) fn clean_batch(&self, batch: &mut Batch) {
        batch.events.iter_mut().for_each(|event| self.clean_event(event));
        if let Some(summary) = &mut batch.summary {
            self.clean_title(&mut summary.title);
            if let Some(details) = &mut summary.details {
                let clean = self.clean_json(details.as_bytes());
                *details = String::from_utf8_lossy(&clean).into_owned();
            }
        }
    }

    pub(super) fn clean_new(&self, new: &mut NewRun) {
        new.events.iter_mut().for_each(|event| self.clean_event(event));
        self.clean_title(&mut new.title);
    }

    fn clean_event(&self, event: &mut Vec<u8>) {
        if let Cow::Owned(clean) = self.clean_json(event) {
            *event = clean;
        }
    }

    fn clean_title(&self, title: &mut Option<String>) {
        if let Some(title) = title {
            *title = self.clean_text(title).into_owned();
        }
    }
}

impl Known {
    fn of(values: BTreeSet<String>) -> Self {
        let (mut forms, mut json) = (BTreeSet::new(), BTreeSet::new());
        for value in values.iter().map(String::as_str).flat_map(with_lines) {
            let (once, encoded) = (escaped(value), percent_encoded(value));
            // Text within text: the arguments of a tool call are a JSON document inside an event.
            json.extend([escaped(&once), once.clone(), encoded.clone()]);
            forms.extend([value.to_owned(), once, encoded]);
        }
        Self { plain: automaton(&forms), json: automaton(&json), values, forms }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.known().values.len())
    }
}

/// `GITHUB_TOKEN`, `client_secret_2`, `DB_PASSWORD`; not `KEYBOARD` or `TOKENIZERS_PARALLELISM`.
fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = ["_KEY", "_TOKEN", "_PASSWORD", "_PASSWD", "_PASSPHRASE", "_CREDENTIALS", "_PAT", "APIKEY"];
    name.contains("SECRET")
        || ends.iter().any(|end| name.ends_with(end))
        || matches!(name.as_str(), "TOKEN" | "PASSWORD" | "PGPASSWORD")
}

/// A secret of several lines leaks line by line too. The frame of a key (`-----BEGIN …`) is no secret.
fn with_lines(secret: &str) -> impl Iterator<Item = &str> {
    let lines = secret.lines().map(str::trim);
    let long = lines.filter(|line| line.len() >= SHORTEST_LINE && !line.starts_with("-----"));
    std::iter::once(secret).chain(long)
}

/// As it stands between the quotes of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).to_owned()
}

/// As it stands in an address.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'_' | b'.' | b'~' => encoded.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn automaton(patterns: &BTreeSet<String>) -> Option<AhoCorasick> {
    if patterns.is_empty() {
        return None;
    }
    // The longest of those that start at one place: a secret that begins with another is removed whole.
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns).ok()
}

fn is_number(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
}

fn nines(number: &[u8]) -> Vec<u8> {
    number.iter().map(|byte| if byte.is_ascii_digit() { b'9' } else { *byte }).collect()
}

/// Where in a JSON document a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Structure,
    Text,
    /// After the backslash, where a byte does not stand for itself.
    Escape,
}

/// Walks a document once, from left to right.
#[derive(Default)]
struct Walk {
    at: usize,
    is_in_string: bool,
    /// Bytes that still belong to an escape.
    escape: u8,
}

impl Walk {
    fn to(&mut self, document: &[u8], target: usize) -> Position {
        for byte in document.get(self.at..target).unwrap_or_default() {
            match byte {
                b'u' if self.escape == 1 => self.escape = 4,
                _ if self.escape > 0 => self.escape -= 1,
                b'\\' if self.is_in_string => self.escape = 1,
                b'"' => self.is_in_string = !self.is_in_string,
                _ => {}
            }
        }
        self.at = self.at.max(target);
        match (self.is_in_string, self.escape) {
            (_, 1..) => Position::Escape,
            (true, 0) => Position::Text,
            (false, 0) => Position::Structure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        Redactor::new(Vec::<(String, String)>::new(), secrets.iter().map(|secret| (*secret).to_owned()))
    }

    fn json(redactor: &Redactor, document: &str) -> String {
        String::from_utf8(redactor.clean_json(document.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn names_decide_which_variables_are_secret() {
        for name in ["OPENAI_API_KEY", "github_token", "CLIENT_SECRET_2", "DB_PASSWORD", "TOKEN"] {
            assert!(sounds_secret(name), "{name}");
        }
        for name in ["PATH", "KEYBOARD", "TOKENIZERS_PARALLELISM", "MONKEY", "HOME"] {
            assert!(!sounds_secret(name), "{name}");
        }
        let redactor = Redactor::new(
            [("A_KEY", "sk-canary-123456"), ("A_TOKEN", "short"), ("HOME", "/home/someone")],
            ["given-canary".to_owned()],
        );
        let text = redactor.clean_text("sk-canary-123456 short /home/someone given-canary");
        assert_eq!(text, "<redacted> short /home/someone <redacted>");
        assert_eq!(format!("{redactor:?}"), "Redactor(2 secrets)");
    }

    #[test]
    fn a_secret_that_becomes_known_later_is_removed_from_then_on() {
        let redactor = redactor(&["first-canary"]);
        assert_eq!(redactor.clean_text("second-canary"), "second-canary");
        redactor.add(" second-canary\n");
        redactor.add("short");
        assert_eq!(redactor.clean_text("first-canary second-canary short"), "<redacted> <redacted> short");
    }

    #[test]
    fn the_beginning_of_a_secret_at_the_end_is_held_back() {
        let redactor = redactor(&["sk-canary-1", "秘密秘密秘密"]);
        assert_eq!(redactor.held_back("the key is sk-can"), 6);
        assert_eq!(redactor.held_back("the key is sk-canary-1"), 0);
        assert_eq!(redactor.held_back("no key"), 0);
        assert_eq!(redactor.held_back("s"), 1);
        assert_eq!(redactor.held_back("秘密"), "秘密".len());
    }

    #[test]
    fn a_secret_is_found_in_the_form_json_gives_it() {
        let secret = "pa\"ss\\word\n第一";
        let redactor = redactor(&[secret]);
        let inner = serde_json::json!({ "argument": secret }).to_string();
        let event = serde_json::json!({ "plain": secret, "arguments": inner }).to_string();
        let clean = json(&redactor, &event);
        let value: serde_json::Value = serde_json::from_str(&clean).unwrap();
        assert_eq!(value["plain"], "<redacted>");
        assert_eq!(value["arguments"], r#"{"argument":"<redacted>"}"#);
    }

    #[test]
    fn digits_outside_of_strings_stay_a_number() {
        let redactor = redactor(&["12345678"]);
        assert_eq!(
            json(&redactor, r#"{"at":1123456789,"t":"x12345678y"}"#),
            r#"{"at":1999999999,"t":"x<redacted>y"}"#
        );
    }

    #[test]
    fn an_escape_is_not_torn_apart() {
        let redactor = redactor(&["nabcdefgh", "0041abcdef"]);
        for untouched in [r#"{"t":"\nabcdefgh"}"#, r#"{"t":"\u0041abcdef"}"#] {
            assert_eq!(json(&redactor, untouched), untouched);
        }
        assert_eq!(json(&redactor, r#"{"t":"\\nabcdefgh"}"#), r#"{"t":"\\<redacted>"}"#);
    }

    #[test]
    fn lines_of_a_key_are_secret_alone_and_its_frame_is_not() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE KEY-----";
        let redactor = redactor(&[key]);
        assert_eq!(redactor.clean_text("got MIIEvQIBADANBgkqhkiG9w0!"), "got <redacted>!");
        assert_eq!(redactor.clean_text("-----BEGIN PRIVATE KEY-----"), "-----BEGIN PRIVATE KEY-----");
    }

    #[test]
    fn the_longest_secret_is_removed_whole() {
        let redactor = redactor(&["abcdefgh", "abcdefgh-and-more"]);
        assert_eq!(redactor.clean_text("abcdefgh-and-more abcdefgh"), "<redacted> <redacted>");
    }

    proptest! {
        #[test]
        fn documents_stay_valid_and_secrets_leave(
            secret in "[a-z0-9\"\\\\\n{}:,é]{8,16}",
            before in "[a-z0-9\"\\\\\n{}é]{0,12}",
            after in "[a-z0-9\"\\\\\n{}é]{0,12}",
            number in any::<u64>(),
        ) {
            let secret = secret.trim();
            prop_assume!(secret.len() >= SHORTEST);
            let redactor = redactor(&[secret]);
            let event = serde_json::json!({ "text": format!("{before}{secret}{after}"), "n": number });
            let clean = redactor.clean_json(event.to_string().as_bytes()).into_owned();
            let value: serde_json::Value = serde_json::from_slice(&clean).unwrap();
            prop_assert!(!value["text"].as_str().unwrap().contains(secret));
        }
    }
}
