//! Settings under names that people choose: `[providers.NAME]` and `[prices."provider/name"]`. A new field is a new row.

use super::kind::{Kind, Value};
use super::{Config, Layer, Origin};

/// A table whose keys are names, each with the same fields.
#[derive(Debug)]
pub struct Section {
    pub name: &'static str,
    pub fields: &'static [Field],
    pub doc_en: &'static str,
    pub doc_zh: &'static str,
}

/// One field of a section.
#[derive(Debug)]
pub struct Field {
    pub key: &'static str,
    pub kind: Kind,
    pub trust: Trust,
    pub doc_en: &'static str,
    pub doc_zh: &'static str,
}

/// Whose word counts. Files of a project come with a clone, and whoever says where a request goes gets the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Every layer.
    Anyone,
    /// Only the person's own file.
    Person,
    /// Only the person's own file, when the provider is given a key.
    PersonIfKeyed,
}

/// One field with its value.
#[derive(Clone, Debug)]
pub struct NamedEntry {
    pub section: &'static Section,
    pub name: String,
    pub field: &'static Field,
    pub value: Value,
    pub origin: Origin,
}

/// All sections, in the order they are listed.
pub const SECTIONS: &[Section] = &[
    Section {
        name: "providers",
        doc_en: "model providers: a built-in one by its name, or a server of your own under any name",
        doc_zh: "模型提供方：内置的用其名称，自己的服务可用任意名称",
        fields: &[
            Field {
                key: "base_url",
                kind: Kind::Url,
                trust: Trust::PersonIfKeyed,
                doc_en: "address of the server",
                doc_zh: "服务地址",
            },
            Field {
                key: "api",
                kind: Kind::Choice(&["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]),
                trust: Trust::Anyone,
                doc_en: "which API the server speaks; `openai-chat` for a server of your own unless set",
                doc_zh: "服务使用的接口；自己的服务默认为 `openai-chat`",
            },
            Field {
                key: "key_env",
                kind: Kind::Variable,
                trust: Trust::Person,
                doc_en: "the environment variable that holds the key",
                doc_zh: "存放密钥的环境变量",
            },
            Field {
                key: "key_command",
                kind: Kind::Text,
                trust: Trust::Person,
                doc_en: "a shell command that prints the key",
                doc_zh: "输出密钥的 shell 命令",
            },
            Field {
                key: "headers",
                kind: Kind::Texts,
                trust: Trust::Anyone,
                doc_en: "further HTTP headers of every request",
                doc_zh: "每个请求附加的 HTTP 头",
            },
            Field {
                key: "native_tools",
                kind: Kind::Boolean,
                trust: Trust::Anyone,
                doc_en: "false: the server's models cannot call tools, so they are asked for an action object by JSON Schema (`openai-chat` only)",
                doc_zh: "false：该服务的模型不能调用工具，改为按 JSON Schema 要求动作对象（仅 `openai-chat`）",
            },
        ],
    },
    Section {
        name: "prices",
        doc_en: "prices in US dollars per million tokens, by `provider/name`; they come before the built-in table",
        doc_zh: "每百万词元的美元价格，按 `提供方/名称`；优先于内置价格表",
        fields: &[
            Field {
                key: "input",
                kind: Kind::Money,
                trust: Trust::Anyone,
                doc_en: "of what is sent",
                doc_zh: "输入",
            },
            Field {
                key: "output",
                kind: Kind::Money,
                trust: Trust::Anyone,
                doc_en: "of what is answered",
                doc_zh: "输出",
            },
            Field {
                key: "cache_read",
                kind: Kind::Money,
                trust: Trust::Anyone,
                doc_en: "of what the provider had cached; `input` unless set",
                doc_zh: "缓存命中；默认同 `input`",
            },
            Field {
                key: "cache_write",
                kind: Kind::Money,
                trust: Trust::Anyone,
                doc_en: "of what the provider caches; `input` unless set",
                doc_zh: "写入缓存；默认同 `input`",
            },
            Field {
                key: "date",
                kind: Kind::Date,
                trust: Trust::Anyone,
                doc_en: "the day you looked the price up",
                doc_zh: "查询价格的日期",
            },
        ],
    },
];

impl Section {
    pub fn find(name: &str) -> Option<&'static Self> {
        SECTIONS.iter().find(|section| section.name == name)
    }

    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// `providers.mine.base_url`, or `prices."openai/x".input`.
    pub(super) fn key(&self, name: &str, field: &str) -> String {
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !name.is_empty() && name.chars().all(is_bare) {
            format!("{}.{name}.{field}", self.name)
        } else {
            format!("{}.{}.{field}", self.name, serde_json::Value::from(name))
        }
    }
}

/// What a dotted key means, when it is of a section.
pub(super) fn field_of(key: &str) -> Option<(&'static Section, String, &'static Field)> {
    let path = toml_edit::Key::parse(key).ok()?;
    let path: Vec<&str> = path.iter().map(toml_edit::Key::get).collect();
    let [section, name, field] = path.as_slice() else { return None };
    let section = Section::find(section)?;
    Some((section, (*name).to_owned(), section.field(field)?))
}

impl NamedEntry {
    /// The dotted key as `config get` takes it.
    pub fn key(&self) -> String {
        self.section.key(&self.name, self.field.key)
    }
}

impl Config {
    /// All fields under chosen names, by section, name and field.
    pub fn named(&self) -> &[NamedEntry] {
        &self.named
    }

    pub fn get_named(&self, key: &str) -> Option<&NamedEntry> {
        self.named.iter().find(|entry| entry.key() == key)
    }

    pub(super) fn named_value(&self, section: &str, name: &str, field: &str) -> Option<&Value> {
        let section = Section::find(section)?;
        let at = self.place_of(section, name, section.field(field)?).ok()?;
        self.named.get(at).map(|entry| &entry.value)
    }

    /// The later one wins.
    pub(super) fn put_named(&mut self, entry: NamedEntry) {
        match self.place_of(entry.section, &entry.name, entry.field) {
            Ok(at) => {
                if let Some(old) = self.named.get_mut(at) {
                    *old = entry;
                }
            }
            Err(at) => self.named.insert(at, entry),
        }
    }

    /// Where an entry is, or would be: sections and fields in the order of their tables, names in that of the alphabet.
    fn place_of(&self, section: &Section, name: &str, field: &Field) -> Result<usize, usize> {
        let of = |section: &Section| SECTIONS.iter().position(|other| other.name == section.name);
        let at = |section: &Section, field: &Field| {
            (of(section), section.fields.iter().position(|other| other.key == field.key))
        };
        let (wanted_section, wanted_field) = at(section, field);
        self.named.binary_search_by(|entry| {
            let (section, field) = at(entry.section, entry.field);
            (section, entry.name.as_str(), field).cmp(&(wanted_section, name, wanted_field))
        })
    }

    /// Whether there is such a setting, whether or not somebody set it.
    pub fn knows(key: &str) -> bool {
        super::Setting::find(key).is_some() || field_of(key).is_some()
    }

    /// Whether a value of this key would count in this layer.
    pub fn counts_in(&self, key: &str, layer: Layer) -> bool {
        if super::Setting::find(key).is_some_and(super::Setting::is_personal) {
            return !layer.is_of_a_project();
        }
        let Some((_, name, field)) = field_of(key) else { return true };
        match field.trust {
            Trust::Anyone => true,
            Trust::Person => !layer.is_of_a_project(),
            Trust::PersonIfKeyed => !layer.is_of_a_project() || !self.is_keyed(&name),
        }
    }

    /// Whether requests to this provider carry a key that a project must not lead elsewhere.
    pub(super) fn is_keyed(&self, provider: &str) -> bool {
        crate::models::takes_a_key(provider)
            || ["key_env", "key_command"]
                .iter()
                .any(|field| self.named_value("providers", provider, field).is_some())
    }
}

impl Layer {
    /// Files that come with a project, which somebody else may have written.
    pub(super) const fn is_of_a_project(self) -> bool {
        matches!(self, Self::Project | Self::Local)
    }
}
