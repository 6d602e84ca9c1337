//! What the settings say about models, as the models' own room takes it.

use super::kind::Value;
use super::{Config, Section};
use crate::models::price::Price;
use crate::models::{Api, CallLimits, ModelSettings, NativeTools, ProviderSettings, RetrySettings};
use fugato_model::{Code, Diagnostic, words};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

impl Config {
    /// Everything that is set about models. Keys are not in it: only where they are found.
    pub fn model_settings(&self) -> ModelSettings {
        let seconds = |key| Duration::from_secs(u64::try_from(self.integer(key)).unwrap_or(0));
        let limits = CallLimits {
            connect: seconds("calls.connect_seconds"),
            first_byte: seconds("calls.first_byte_seconds"),
            idle: seconds("calls.idle_seconds"),
            total: seconds("calls.total_seconds"),
            ..CallLimits::default()
        };
        let retries = RetrySettings {
            attempts: u32::try_from(self.integer("calls.attempts")).unwrap_or(1),
            at_once: usize::try_from(self.integer("calls.at_once")).ok().filter(|at_once| *at_once > 0),
            ..RetrySettings::default()
        };
        ModelSettings {
            default: self.text("model").map(str::to_owned),
            providers: self.providers(),
            limits,
            retries,
            prices: self.prices(),
            ..ModelSettings::default()
        }
    }

    /// The days that own prices were looked up, by `provider/name`.
    pub fn price_dates(&self) -> BTreeMap<String, String> {
        let dated = |name: &String| Some((name.clone(), self.named_text("prices", name, "date")?));
        self.prices().keys().filter_map(dated).collect()
    }

    fn providers(&self) -> BTreeMap<String, ProviderSettings> {
        let provider = |name: String| {
            let text = |field| self.named_text("providers", &name, field);
            let headers = match self.named_value("providers", &name, "headers") {
                Some(Value::Texts(headers)) => headers.clone(),
                _ => BTreeMap::new(),
            };
            let native_tools = match self.named_value("providers", &name, "native_tools") {
                Some(Value::Boolean(false)) => NativeTools::No,
                _ => NativeTools::Yes,
            };
            let settings = ProviderSettings {
                base_url: text("base_url"),
                api: text("api").as_deref().and_then(Api::parse),
                key_env: text("key_env"),
                key_command: text("key_command"),
                headers,
                native_tools,
            };
            (name, settings)
        };
        self.names("providers").into_iter().map(provider).collect()
    }

    /// Own prices. One without `input` or `output` is no price: its cost stays unknown.
    fn prices(&self) -> BTreeMap<String, Price> {
        let price = |name: String| {
            let money = |field| match self.named_value("prices", &name, field) {
                Some(Value::Money(thousandths)) => Some(*thousandths),
                _ => None,
            };
            let (input, output) = (money("input")?, money("output")?);
            let price = Price {
                input,
                output,
                cache_read: money("cache_read").unwrap_or(input),
                cache_write: money("cache_write").unwrap_or(input),
                up_to_input_tokens: None,
            };
            Some((name, price))
        };
        self.names("prices").into_iter().filter_map(price).collect()
    }

    /// A price with a missing half would count half of the tokens as free.
    pub(super) fn check_prices(&self, diagnostics: &mut Vec<Diagnostic>) {
        let known = self.prices();
        for name in self.names("prices").into_iter().filter(|name| !known.contains_key(name)) {
            let Some(entry) =
                self.named().iter().find(|entry| entry.section.name == "prices" && entry.name == name)
            else {
                continue;
            };
            let (place, line) =
                (entry.origin.file.clone().unwrap_or_default(), entry.origin.line.unwrap_or_default());
            let message = words!(
                "the price of `{name}` needs `input` and `output`; without both its cost is unknown (line {line})",
                "`{name}` 的价格需要 `input` 和 `output`；缺一则费用未知（第 {line} 行）"
            );
            diagnostics
                .push(Diagnostic::warning(Code::F0403, place, message).field(format!("prices.{name}")));
        }
    }

    fn names(&self, section: &str) -> BTreeSet<String> {
        let of_section = Section::find(section).map(|section| section.name);
        let entries = self.named().iter().filter(|entry| Some(entry.section.name) == of_section);
        entries.map(|entry| entry.name.clone()).collect()
    }

    fn named_text(&self, section: &str, name: &str, field: &str) -> Option<String> {
        match self.named_value(section, name, field)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}
