//! Text to syntax tree, within limits. What can go wrong before a profile has any meaning is said here.
//!
//! The tree comes from `jsonc-parser`; a scan before it guards the stack and gives better words for a file that was
//! cut off.

use super::report::Report;
use fugato_model::{Code, Diagnostic, Words, words};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::collections::HashMap;

/// A profile is written by people: the largest known has 40 KiB. Past this it is some other file.
pub const MAX_BYTES: usize = 1024 * 1024;
/// The deepest place of a real profile is 6. More would only cost stack.
const MAX_DEPTH: usize = 64;
/// The longest text of one field. It is sent with every request, so more is surely a mistake.
pub(super) const MAX_PROMPT_BYTES: usize = 256 * 1024;

/// JSON with comments and trailing commas, nothing looser: what we accept, editors accept too.
pub(crate) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const BOM: &str = "\u{feff}";

/// The text without a byte-order mark, and how many bytes that mark had.
pub(crate) fn without_bom(text: &str) -> (&str, usize) {
    text.strip_prefix(BOM).map_or((text, 0), |rest| (rest, BOM.len()))
}

/// The bytes of a file as text, or why they are not.
pub(super) fn text_of<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, Box<Diagnostic>> {
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let offset = error.valid_up_to();
    let good = bytes.get(..offset).and_then(|head| std::str::from_utf8(head).ok()).unwrap_or_default();
    let diagnostic = Diagnostic::error(
        Code::F0201,
        path,
        words!(
            "the file is not UTF-8: bad byte at offset {offset}",
            "文件不是 UTF-8：偏移 {offset} 处的字节无效"
        ),
    )
    .at(good, offset, offset);
    let utf16 = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let hint = if utf16 {
        words!("it looks like UTF-16: save it as UTF-8", "看起来是 UTF-16：请另存为 UTF-8")
    } else {
        words!("save the file as UTF-8", "请将文件另存为 UTF-8")
    };
    Err(Box::new(diagnostic.hint(hint)))
}

/// The root object of the file. Errors are in the report.
pub(super) fn root<'s>(report: &mut Report<'s>) -> Option<Object<'s>> {
    let source = report.source;
    if source.len() + report.base > MAX_BYTES {
        let found = source.len() + report.base;
        report.error(
            Code::F0217,
            "",
            Range::new(0, 0),
            words!(
                "the file has {found} bytes (limit {MAX_BYTES})",
                "文件有 {found} 字节（上限 {MAX_BYTES}）"
            ),
        );
        return None;
    }
    if scan(source).is_err_and(|problem| problem.report(report)) {
        return None;
    }
    let value = match parse_to_ast(source, &CollectOptions::default(), &OPTIONS) {
        Ok(parsed) => parsed.value,
        Err(error) => {
            let (message, hint) = syntax_words(error.kind());
            let diagnostic = report.error(Code::F0201, "", error.range(), message);
            if let (Some(diagnostic), Some(hint)) = (diagnostic, hint) {
                diagnostic.hint = Some(hint);
            }
            return None;
        }
    };
    match value {
        Some(Value::Object(object)) => Some(object),
        Some(other) => {
            let (en, zh) = kind_of(&other);
            let range = other.range();
            report.error(
                Code::F0209,
                "",
                Range::new(range.start, range.start + 1),
                words!("the profile is {en} (expected an object)", "配置是{zh}（应为对象）"),
            );
            None
        }
        None => {
            let diagnostic = report.error(
                Code::F0201,
                "",
                Range::new(0, 0),
                words!("the file is empty (expected a profile)", "文件为空（应为一个配置）"),
            );
            if let Some(diagnostic) = diagnostic {
                diagnostic.hint = Some(words!(
                    "fugato profile new director prints a profile to start from",
                    "可运行 fugato profile new director 得到一份起始配置"
                ));
            }
            None
        }
    }
}

/// Duplicate keys and numbers out of range, anywhere in the file. Depth is bounded by the scan.
pub(super) fn check_everything(report: &mut Report<'_>, value: &Value<'_>, pointer: &str) {
    match value {
        Value::Object(object) => check_object(report, object, pointer),
        Value::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                // Leaves are most of a file: no pointer is built for a text.
                if !matches!(element, Value::StringLit(_)) {
                    check_everything(report, element, &format!("{pointer}/{index}"));
                }
            }
        }
        Value::NumberLit(number) if !number.value.parse::<f64>().is_ok_and(f64::is_finite) => {
            let shown: String = number.value.chars().take(40).collect();
            report.error(
                Code::F0217,
                pointer,
                number.range,
                words!("the number {shown} is out of range", "数字 {shown} 超出范围"),
            );
        }
        _ => {}
    }
}

pub(super) fn check_object(report: &mut Report<'_>, object: &Object<'_>, pointer: &str) {
    let mut first: HashMap<&str, Range> = HashMap::with_capacity(object.properties.len());
    for property in &object.properties {
        let key = property.name.as_str();
        let range = property.name.range();
        if let Some(before) = first.insert(key, range) {
            first.insert(key, before);
            duplicate_key(report, &join(pointer, key), key, before, range);
        }
        if !matches!(property.value, Value::StringLit(_)) {
            check_everything(report, &property.value, &join(pointer, key));
        }
    }
}

fn duplicate_key(report: &mut Report<'_>, pointer: &str, key: &str, before: Range, range: Range) {
    let source = report.source;
    let shown: String = key.chars().take(80).collect();
    let Some(diagnostic) = report.error(Code::F0202, pointer, range, words!("", "")) else { return };
    let first_line = fugato_model::Span::of(source, before.start, before.end).line;
    let line = diagnostic.span.map_or(0, |span| span.line);
    diagnostic.message = words!(
        "the key `{shown}` is written twice, in line {first_line} and line {line}",
        "键 `{shown}` 写了两次，分别在第 {first_line} 行和第 {line} 行"
    );
    let noted = diagnostic.clone().related(
        source,
        before.start,
        before.end,
        words!("first written here", "第一次写在这里"),
    );
    *diagnostic = noted.hint(words!("keep one of them", "请只保留一个"));
}

/// `/a/b`, with the two characters a JSON pointer escapes.
pub(super) fn join(pointer: &str, key: &str) -> String {
    if key.contains(['~', '/']) {
        format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
    } else {
        format!("{pointer}/{key}")
    }
}

/// What a value is, in both languages.
pub(super) const fn kind_of(value: &Value<'_>) -> (&'static str, &'static str) {
    match value {
        Value::StringLit(_) => ("a string", "字符串"),
        Value::NumberLit(_) => ("a number", "数字"),
        Value::BooleanLit(_) => ("a boolean", "布尔值"),
        Value::Object(_) => ("an object", "对象"),
        Value::Array(_) => ("a list", "列表"),
        Value::NullKeyword(_) => ("null", "null"),
    }
}

/// What the scan before parsing can find.
enum Problem {
    TooDeep { at: usize },
    Ends { inside: Inside, opened: usize },
    OpenString { at: usize },
}

enum Inside {
    Object,
    List,
    Text,
    Comment,
}

impl Problem {
    /// Always true: whoever asks has an error.
    fn report(self, report: &mut Report<'_>) -> bool {
        let source = report.source;
        match self {
            Self::TooDeep { at } => {
                report.error(
                    Code::F0217,
                    "",
                    Range::new(at, at + 1),
                    words!("nested more than {MAX_DEPTH} deep", "嵌套超过 {MAX_DEPTH} 层"),
                );
            }
            Self::OpenString { at } => {
                let end =
                    source.get(at..).and_then(|rest| rest.find(['\n', '\r'])).map_or(at + 1, |n| at + n);
                let diagnostic = report.error(
                    Code::F0201,
                    "",
                    Range::new(at, end),
                    words!("the text is not closed on its line", "字符串没有在本行结束"),
                );
                if let Some(diagnostic) = diagnostic {
                    diagnostic.hint = Some(words!(
                        "add the closing quote; write a line break as \\n",
                        "请补上结束引号；换行请写作 \\n"
                    ));
                }
            }
            Self::Ends { inside, opened } => {
                let line = fugato_model::Span::of(source, opened, opened).line;
                let (en, zh) = match inside {
                    Inside::Object => ("object", "对象"),
                    Inside::List => ("list", "列表"),
                    Inside::Text => ("text", "字符串"),
                    Inside::Comment => ("comment", "注释"),
                };
                let diagnostic = report.error(
                    Code::F0201,
                    "",
                    Range::new(source.len(), source.len()),
                    words!(
                        "end of file inside {en} opened at line {line}",
                        "文件在第 {line} 行开始的{zh}中结束"
                    ),
                );
                if let Some(diagnostic) = diagnostic {
                    *diagnostic = diagnostic
                        .clone()
                        .related(source, opened, opened + 1, words!("opened here", "从这里开始"))
                        .hint(words!(
                            "the file looks cut off: close what is open",
                            "文件似乎不完整：请补上缺少的结束符"
                        ));
                }
            }
        }
        true
    }
}

/// One pass over the bytes: brackets, texts and comments only. A mismatched bracket is left to the parser.
fn scan(source: &str) -> Result<(), Problem> {
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut bytes = source.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                if open.len() >= MAX_DEPTH {
                    return Err(Problem::TooDeep { at });
                }
                open.push((byte, at));
            }
            b'}' | b']' => match open.pop() {
                Some((b'{', _)) if byte == b'}' => {}
                Some((b'[', _)) if byte == b']' => {}
                _ => return Ok(()),
            },
            b'"' => skip_text(&mut bytes, at)?,
            b'/' => skip_comment(&mut bytes, source, at)?,
            _ => {}
        }
    }
    match open.pop() {
        Some((b'{', opened)) => Err(Problem::Ends { inside: Inside::Object, opened }),
        Some((_, opened)) => Err(Problem::Ends { inside: Inside::List, opened }),
        None => Ok(()),
    }
}

type Bytes<'s> = std::iter::Enumerate<std::str::Bytes<'s>>;

fn skip_text(bytes: &mut Bytes<'_>, opened: usize) -> Result<(), Problem> {
    while let Some((_, byte)) = bytes.next() {
        match byte {
            b'"' => return Ok(()),
            b'\\' => {
                bytes.next();
            }
            b'\n' | b'\r' => return Err(Problem::OpenString { at: opened }),
            _ => {}
        }
    }
    Err(Problem::Ends { inside: Inside::Text, opened })
}

fn skip_comment(bytes: &mut Bytes<'_>, source: &str, opened: usize) -> Result<(), Problem> {
    match source.as_bytes().get(opened + 1) {
        Some(b'/') => {
            bytes.find(|(_, byte)| matches!(byte, b'\n' | b'\r'));
            Ok(())
        }
        Some(b'*') => {
            bytes.next();
            let mut star = false;
            for (_, byte) in bytes {
                if star && byte == b'/' {
                    return Ok(());
                }
                star = byte == b'*';
            }
            Err(Problem::Ends { inside: Inside::Comment, opened })
        }
        _ => Ok(()),
    }
}

fn syntax_words(kind: &ParseErrorKind) -> (Words, Option<Words>) {
    use ParseErrorKind as K;
    let message = match kind {
        K::ExpectedColonAfterObjectKey => words!("expected `:` after the key", "键后面应为 `:`"),
        K::ExpectedObjectValue => words!("expected a value after `:`", "`:` 后面应为一个值"),
        K::ExpectedComma => words!("expected `,`", "此处应为 `,`"),
        K::ExpectedStringObjectProperty => words!("a key is not in double quotes", "键没有用双引号括起来"),
        K::SingleQuotedStringsNotAllowed => words!("text is in single quotes", "字符串用了单引号"),
        K::MultipleRootJsonValues => {
            words!("something follows the end of the profile", "配置结束之后还有内容")
        }
        K::UnexpectedCloseBrace => {
            words!("found `}}` (expected a value or `]`)", "出现 `}}`（应为值或 `]`）")
        }
        K::UnexpectedCloseBracket => {
            words!("found `]` (expected a value or `}}`)", "出现 `]`（应为值或 `}}`）")
        }
        K::UnexpectedComma => words!("found `,` (expected a value)", "出现 `,`（应为一个值）"),
        K::UnexpectedColon => words!("found `:` (expected a value)", "出现 `:`（应为一个值）"),
        K::UnexpectedWord => words!("found a bare word (expected a value)", "出现裸词（应为一个值）"),
        K::UnexpectedTokenInObject => words!("expected a key or `}}`", "此处应为键或 `}}`"),
        K::String(_) => {
            words!("the text has an escape that JSON does not know", "字符串含有 JSON 不支持的转义")
        }
        K::NestingDepthExceeded => words!("nested too deep", "嵌套过深"),
        K::ExpectedDigit
        | K::ExpectedDigitFollowingNegativeSign
        | K::ExpectedPlusMinusOrDigitInNumberLiteral
        | K::BareDecimalPointNumbersNotAllowed
        | K::HexadecimalNumbersNotAllowed
        | K::NonFiniteNumbersNotAllowed
        | K::UnaryPlusNumbersNotAllowed => words!("this is not a JSON number", "这不是 JSON 数字"),
        _ => words!("this is not JSON", "这不是合法的 JSON"),
    };
    let hint = match kind {
        K::SingleQuotedStringsNotAllowed | K::ExpectedStringObjectProperty | K::UnexpectedWord => {
            Some(words!("write it in double quotes: \"…\"", "请用双引号括起来：\"…\""))
        }
        K::ExpectedComma => Some(words!("add the missing comma", "请补上缺少的逗号")),
        _ => None,
    };
    (message, hint)
}
