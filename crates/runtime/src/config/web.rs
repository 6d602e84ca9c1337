//! What the settings say of the web: which hosts are allowed, who is asked for searches, which browser is used.

use super::{Config, Value};
use crate::tools::WebSettings;
use fugato_world::web::Allowed;
use std::ffi::OsString;

impl Config {
    /// Settings and environment together. Keys are looked up here, and shown to nobody.
    pub fn web_settings(&self, env: impl Fn(&str) -> Option<OsString>) -> WebSettings {
        let allow = match self.get("web.allow").map(|entry| &entry.value) {
            Some(Value::Hosts(hosts)) => hosts.iter().filter_map(|host| Allowed::parse(host)).collect(),
            _ => Vec::new(),
        };
        let mut settings = WebSettings {
            allow,
            browser: self.text("browser.program").map(Into::into),
            ..WebSettings::default()
        };
        settings.choose_search(
            self.text("search.provider"),
            self.text("search.url"),
            self.text("search.key_env"),
            self.text("search.key_command"),
            env,
        );
        settings
    }
}
