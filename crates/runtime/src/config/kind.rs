//! What values a setting accepts, and the values themselves. Knows neither files nor layers.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What values a setting accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Choice(&'static [&'static str]),
    Integer {
        min: i64,
        max: i64,
    },
    Boolean,
    Text,
    /// Directories; in files relative to the file, elsewhere to the working directory. `~/` is the home directory.
    Directories,
    /// `provider/name`, `script:FILE`, `echo` or `replay:RUN`; the file of a script as [`Kind::Directories`].
    Model,
    /// The address of a server.
    Url,
    /// The name of an environment variable.
    Variable,
    /// US dollars per million tokens.
    Money,
    /// `2026-11-15`.
    Date,
    /// A table of texts.
    Texts,
    /// A list of permission rules; each layer adds to it.
    Rules,
    /// Hosts as they stand in addresses, with a port or without.
    Hosts,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Unset,
    Text(String),
    Integer(i64),
    Boolean(bool),
    Directories(Vec<PathBuf>),
    /// Thousandths of a US dollar.
    Money(u64),
    Texts(BTreeMap<String, String>),
    /// Each one reads as a rule.
    Rules(Vec<String>),
    Hosts(Vec<String>),
}

impl Kind {
    /// What is accepted, for messages: in English and in Chinese.
    pub(super) fn expected(self) -> (String, String) {
        let both = |en: &str, zh: &str| (en.to_owned(), zh.to_owned());
        match self {
            Self::Choice(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
                (format!("one of {}", quoted.join(", ")), format!("{} 之一", quoted.join("、")))
            }
            Self::Integer { min, max } => {
                (format!("a whole number from {min} to {max}"), format!("{min} 到 {max} 之间的整数"))
            }
            Self::Boolean => both("true or false", " true 或 false"),
            Self::Text => both("text", "文本"),
            Self::Directories => both("a list of directories", "目录列表"),
            Self::Model => both(
                "`provider/name`, a provider, `script:FILE`, `echo` or `replay:RUN`",
                "`提供方/名称`、提供方、`script:文件`、`echo` 或 `replay:运行`",
            ),
            Self::Url => both(
                "an address like http://127.0.0.1:8080/v1, without a password in it",
                "形如 http://127.0.0.1:8080/v1 的地址，且不含密码",
            ),
            Self::Variable => both(
                "the name of an environment variable, not the key itself",
                "环境变量的名称，而不是密钥本身",
            ),
            Self::Money => both(
                "US dollars per million tokens, with at most three decimals",
                "每百万词元的美元价格，最多三位小数",
            ),
            Self::Date => both("a date like 2026-11-15", "形如 2026-11-15 的日期"),
            Self::Texts => both("a table of texts", "由文本组成的表"),
            Self::Rules => both(
                "a list of rules such as [\"Bash(git status:*)\", \"Write(src/**)\"]",
                "规则列表，例如 [\"Bash(git status:*)\", \"Write(src/**)\"]",
            ),
            Self::Hosts => both(
                "a list of hosts like \"intranet.example\" or \"127.0.0.1:8080\"",
                "主机列表，如 \"intranet.example\" 或 \"127.0.0.1:8080\"",
            ),
        }
    }

    /// Whether what was found may be shown when it is wrong: a key that was put into the wrong place may not.
    pub(super) fn may_be_shown(self) -> bool {
        !matches!(self, Self::Variable | Self::Url | Self::Texts)
    }

    /// Reads a value as typed in a flag or a variable. Directories are separated like those of `PATH`.
    pub(super) fn read(self, text: &str) -> Option<Value> {
        match self {
            Self::Integer { .. } => self.accept(Value::Integer(text.trim().parse().ok()?)),
            Self::Boolean => Some(Value::Boolean(text.trim().parse().ok()?)),
            Self::Money => money(text.trim()).map(Value::Money),
            Self::Directories => {
                let dirs = std::env::split_paths(text).filter(|dir| !dir.as_os_str().is_empty());
                Some(Value::Directories(dirs.collect()))
            }
            Self::Texts => {
                let (name, value) = text.split_once('=')?;
                self.accept(Value::Texts([(name.trim().to_owned(), value.trim().to_owned())].into()))
            }
            Self::Rules => self.accept(Value::Rules(rules(text))),
            Self::Hosts => {
                let hosts = text.split(',').map(str::trim).filter(|host| !host.is_empty());
                self.accept(Value::Hosts(hosts.map(str::to_owned).collect()))
            }
            Self::Choice(_) | Self::Text | Self::Model | Self::Url | Self::Variable | Self::Date => {
                self.accept(Value::Text(text.to_owned()))
            }
        }
    }

    /// The value, if it is one of those accepted.
    pub(super) fn accept(self, value: Value) -> Option<Value> {
        let fits = match (self, &value) {
            (Self::Choice(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Self::Integer { min, max }, Value::Integer(number)) => (min..=max).contains(number),
            (Self::Text, Value::Text(text)) => !text.is_empty(),
            (Self::Model, Value::Text(text)) => is_model(text),
            (Self::Url, Value::Text(text)) => is_address(text),
            (Self::Variable, Value::Text(text)) => is_variable(text),
            (Self::Date, Value::Text(text)) => is_date(text),
            (Self::Texts, Value::Texts(texts)) => {
                texts.iter().all(|(name, value)| is_header(name) && !value.contains(['\r', '\n', '\0']))
            }
            (Self::Rules, Value::Rules(rules)) => {
                rules.iter().all(|rule| rule.parse::<fugato_engine::permission::Rule>().is_ok())
            }
            (Self::Hosts, Value::Hosts(hosts)) => {
                hosts.iter().all(|host| fugato_world::web::Allowed::parse(host).is_some())
            }
            (Self::Directories, Value::Directories(_))
            | (Self::Boolean, Value::Boolean(_))
            | (Self::Money, Value::Money(_)) => true,
            _ => false,
        };
        fits.then_some(value)
    }
}

/// Rules as typed: separated by commas, except inside brackets.
fn rules(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(|rule| rule.trim().to_owned()).filter(|rule| !rule.is_empty()).collect()
}

fn is_model(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}

/// A password in an address would be printed wherever the address is.
fn is_address(text: &str) -> bool {
    let rest = match text.split_once("://") {
        Some(("http" | "https", rest)) => rest,
        Some(_) => return false,
        None => text,
    };
    let host = rest.split('/').next().unwrap_or_default();
    !host.is_empty() && !host.contains('@') && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_header(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let digits = |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
    let within = |part: &str, most: u8| part.parse::<u8>().is_ok_and(|number| (1..=most).contains(&number));
    digits(year, 4) && digits(month, 2) && digits(day, 2) && within(month, 12) && within(day, 31)
}

/// `1.25` is 1250. More than three decimals would have to be rounded, and a price is not rounded silently.
pub(super) fn money(text: &str) -> Option<u64> {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let rest = rest.trim_end_matches('0');
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(rest) || rest.len() > 3 {
        return None;
    }
    let rest: u64 = format!("{rest:0<3}").parse().ok()?;
    // A million dollars for a million tokens is beyond every price; what is larger is a slip.
    whole.parse::<u64>().ok().filter(|whole| *whole < 1_000_000).map(|whole| whole * 1_000 + rest)
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unset => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => number.fmt(f),
            Self::Boolean(value) => value.fmt(f),
            Self::Directories(dirs) => {
                let shown: Vec<_> = dirs.iter().map(|dir| dir.to_string_lossy()).collect();
                f.write_str(&shown.join(":"))
            }
            Self::Money(thousandths) => {
                let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
                f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Rules(rules) => f.write_str(&rules.join(", ")),
            Self::Hosts(hosts) => f.write_str(&hosts.join(", ")),
            // A header may be a secret; its name is not.
            Self::Texts(texts) => {
                let shown: Vec<_> = texts.keys().map(|name| format!("{name}=…")).collect();
                f.write_str(&shown.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_exact_or_refused() {
        for (text, thousandths) in
            [("3", Some(3_000)), ("0.075", Some(75)), ("1.250000", Some(1_250)), ("0", Some(0)), (".5", None)]
        {
            assert_eq!(money(text), thousandths, "{text}");
        }
        for wrong in ["", "-1", "1e3", "0.0001", "nan", "inf", "1.2.3", "9999999", "１"] {
            assert_eq!(money(wrong), None, "{wrong}");
        }
        assert_eq!(Value::Money(1_250).to_string(), "1.25");
        assert_eq!(Value::Money(3_000).to_string(), "3");
    }

    #[test]
    fn addresses_hold_no_password_and_variables_are_no_keys() {
        let accepts = |kind: Kind, text: &str| kind.read(text).is_some();
        for good in ["http://127.0.0.1:8080/v1", "https://x.example", "127.0.0.1:11434", "http://[::1]:1/a@b"]
        {
            assert!(accepts(Kind::Url, good), "{good}");
        }
        for bad in ["", "ftp://x", "http://", "http://me:secret@x", "http://x y", "http://x\n"] {
            assert!(!accepts(Kind::Url, bad), "{bad}");
        }
        assert!(accepts(Kind::Variable, "TEAM_KEY_2") && !accepts(Kind::Variable, "sk-ant-123"));
        assert!(accepts(Kind::Date, "2026-11-15") && !accepts(Kind::Date, "2026-13-01"));
        assert!(accepts(Kind::Texts, "x-title=fugato") && !accepts(Kind::Texts, "a b=c"));
        assert_eq!(Kind::Texts.read("authorization=Bearer x").unwrap().to_string(), "authorization=…");
    }
}
