//! The HTTP client of this room: it connects only to addresses the guard has checked, follows no redirect by itself and
//! uses no proxy, because behind one the address that is reached cannot be checked.

use super::guard::{Guard, Refused};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(15);

/// Connections for fetching and searching. A cheap handle; make it once.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) guard: Guard,
    pub(super) http: reqwest::Client,
}

/// There is no client to be had.
#[derive(Debug, thiserror::Error)]
#[error("no TLS is available on this machine: {0}")]
pub struct ClientError(reqwest::Error);

impl Client {
    pub fn new(guard: Guard) -> Result<Self, ClientError> {
        // Fails when the program has installed one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .user_agent(concat!("fugato/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            // A connection kept open was checked for the host it belongs to; none is kept for long.
            .pool_idle_timeout(Duration::from_secs(30))
            .dns_resolver(Checked(guard.clone()))
            .build()
            .map_err(ClientError)?;
        Ok(Self { guard, http })
    }

    /// A request to an address that passes the guard. The resolver below knows no port and never sees an address that is
    /// a number, so both are judged here.
    pub(super) async fn get(&self, url: Url) -> Result<reqwest::RequestBuilder, Refused> {
        self.guard.check(&url)?;
        let host = url.host_str().ok_or(Refused::NoHost)?;
        self.guard.resolve(host, url.port_or_known_default().unwrap_or(0)).await?;
        Ok(self.http.get(url))
    }
}

/// Looks names up for the client, through the guard.
struct Checked(Guard);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let found = guard.resolve_again(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// The innermost cause: the outer ones repeat the URL. A refusal is found wherever it stands.
pub(super) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        if let Some(refused) = cause.downcast_ref::<Refused>() {
            return refused.to_string();
        }
        cause = inner;
    }
    cause.to_string().chars().take(200).collect()
}

/// The refusal inside an error of the client, if that is what it was.
pub(super) fn refusal(error: &reqwest::Error) -> Option<Refused> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            return Some(refused.clone());
        }
        cause = inner.source();
    }
    None
}
