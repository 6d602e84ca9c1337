//! What `doctor` says of the web: which browser agents would use, and who answers their searches. Asks nobody.

use super::{Finding, Health};
use crate::app::App;
use fugato_model::words;
use fugato_runtime::models::KeyReport;
use fugato_runtime::tools::{SearchReport, WebSettings, browser_is_sandboxed, find_browser};

pub fn findings(app: &App) -> [Finding; 2] {
    let settings = app.config.web_settings(crate::app::env_var);
    [browser(&settings), search(&settings)]
}

fn browser(settings: &WebSettings) -> Finding {
    let env: Vec<_> = std::env::vars_os().collect();
    let (health, words) = match (find_browser(settings.browser.as_deref(), &env), &settings.browser) {
        (Some(program), _) => {
            let shown = fugato_model::escape_for_terminal(&program.to_string_lossy()).to_string();
            match browser_is_sandboxed() {
                true => (Health::Ok, words!("browser {shown}", "浏览器 {shown}")),
                false => (
                    Health::Warning,
                    words!(
                        "browser {shown}: without its own sandbox, because you are root",
                        "浏览器 {shown}：由于您是 root，浏览器自身的沙箱不可用"
                    ),
                ),
            }
        }
        (None, Some(named)) => {
            let shown = fugato_model::escape_for_terminal(&named.to_string_lossy()).to_string();
            (
                Health::Warning,
                words!(
                    "browser `{shown}` (browser.program) was not found: browser-* tools do not work",
                    "找不到浏览器 `{shown}`（browser.program）：browser-* 工具不可用"
                ),
            )
        }
        (None, None) => (
            Health::Warning,
            words!(
                "no browser: browser-* tools do not work; apt-get install chromium, or set browser.program",
                "没有浏览器：browser-* 工具不可用；请执行 apt-get install chromium 或设置 browser.program"
            ),
        ),
    };
    Finding { name: "browser", health, words }
}

fn search(settings: &WebSettings) -> Finding {
    let (health, words) = match settings.search_report() {
        SearchReport::Nobody => (
            Health::Ok,
            words!(
                "no search provider: WebSearch does not work; export BRAVE_API_KEY=… or TAVILY_API_KEY=…, or set search.url",
                "没有搜索服务：WebSearch 不可用；请 export BRAVE_API_KEY=… 或 TAVILY_API_KEY=…，或设置 search.url"
            ),
        ),
        SearchReport::MissingAddress(provider) => {
            let name = provider.as_str();
            (
                Health::Warning,
                words!(
                    "search by {name} needs an address: set search.url",
                    "{name} 搜索需要地址：请设置 search.url"
                ),
            )
        }
        SearchReport::Chosen { provider, key: KeyReport::Missing(variables), .. } => {
            let (name, variable) = (provider.as_str(), variables.first().cloned().unwrap_or_default());
            (
                Health::Warning,
                words!(
                    "search by {name} has no key: export {variable}=…",
                    "{name} 搜索没有密钥：export {variable}=…"
                ),
            )
        }
        SearchReport::Chosen { provider, address, key } => {
            let (name, address) =
                (provider.as_str(), fugato_model::escape_for_terminal(&address).to_string());
            let (en, zh) = match key {
                KeyReport::Variable(variable) => {
                    (format!(", key from {variable}"), format!("，密钥来自 {variable}"))
                }
                KeyReport::Command => (", key from a command".to_owned(), "，密钥来自命令".to_owned()),
                _ => (String::new(), String::new()),
            };
            (Health::Ok, words!("search by {name} at {address}{en}", "搜索服务 {name}，地址 {address}{zh}"))
        }
    };
    Finding { name: "search", health, words }
}
