//! The tools of an agent as they are sent: with every request, and written as JSON only once in each provider's format.

use super::transcript::Dialect;
use fugato_model::chat::ToolSpec;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Tools that many requests offer.
#[derive(Debug)]
pub struct Offer {
    specs: Box<[ToolSpec]>,
    written: Written,
}

impl Offer {
    pub fn new(specs: Vec<ToolSpec>) -> Self {
        Self { specs: specs.into(), written: Written::default() }
    }

    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    pub fn written(&self) -> &Written {
        &self.written
    }
}

/// What one list of tools is in the formats it was sent in.
#[derive(Debug, Default)]
pub struct Written(Mutex<BTreeMap<Dialect, Arc<[u8]>>>);

impl Written {
    pub(super) fn get(&self, dialect: Dialect, write: impl FnOnce() -> Vec<u8>) -> Arc<[u8]> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.entry(dialect).or_insert_with(|| write().into()).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::built_in::server;
    use crate::models::test_server::request;
    use crate::models::{Api, ModelRequest, ProviderSettings};

    #[test]
    fn a_list_of_tools_is_written_once_for_each_format() {
        let written = Written::default();
        let mut times = 0;
        for _ in 0..3 {
            for dialect in [Dialect::Chat, Dialect::Anthropic] {
                let bytes = written.get(dialect, || {
                    times += 1;
                    format!("{dialect:?}").into_bytes()
                });
                assert_eq!(*bytes, *format!("{dialect:?}").into_bytes());
            }
        }
        assert_eq!(times, 2);
    }

    #[test]
    fn requests_are_the_same_whether_their_tools_were_written_before_or_not() {
        let offer = Offer::new(request().tools.to_vec());
        assert!(!offer.specs().is_empty());
        for api in [Api::Anthropic, Api::Responses, Api::Chat, Api::Gemini, Api::Ollama] {
            let own = ProviderSettings { api: Some(api), ..ProviderSettings::default() };
            let endpoint = server("body", "http://127.0.0.1", &[], &[]).endpoint(&|_| None, &own);
            let body = |request: &ModelRequest<'_>| endpoint.write(request, None).unwrap().body;
            let plain = body(&ModelRequest { model: "m", ..request() });
            for _ in 0..2 {
                let (tools, written) = (offer.specs(), Some(offer.written()));
                let asked = ModelRequest { model: "m", tools, written, ..request() };
                assert_eq!(body(&asked), plain, "{api:?}");
            }
        }
    }
}
