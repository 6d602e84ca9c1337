//! Who may be asked: public addresses, and what the person allowed by name. Names are looked up here and connections are
//! made to what was found and checked, so a name cannot mean one address for the check and another for the connection.

use super::address::is_public;
use reqwest::Url;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// A resolver that does not answer is worth no longer wait.
const LOOKUP: Duration = Duration::from_secs(10);

/// Ports of services that take a web request for something else (mail, shells, databases of old). As browsers have it.
const REFUSED_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Why an address is not asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("`{0}` is not an address that can be fetched: only http and https are")]
    Scheme(String),
    #[error(
        "the address contains a user name or password, which is not sent; leave out what stands before the `@`"
    )]
    Userinfo,
    #[error("the address has no host")]
    NoHost,
    #[error("port {0} is not a port of web servers")]
    Port(u16),
    #[error(
        "`{0}` is not on the public internet ({1}); if it is meant, the person must allow it with the setting \
         web.allow = [\"{0}\"]"
    )]
    NotPublic(String, IpAddr),
    #[error("`{0}` is not known: there is no such name")]
    Unknown(String),
}

/// One entry of what the person allowed: a host as it stands in addresses, with a port or for all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    host: String,
    port: Option<u16>,
}

impl Allowed {
    /// `intranet.example`, `127.0.0.1:8080`, `[::1]:3000`. `None`: it is no host.
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(&format!("http://{text}/")).ok()?;
        let has_more = url.path() != "/" || url.query().is_some() || url.fragment().is_some();
        if has_more
            || !url.username().is_empty()
            || url.password().is_some()
            || text.contains(['/', '@', '*'])
        {
            return None;
        }
        // Port 80 vanishes from an http address; whoever wrote it meant it.
        let port = url.port().or_else(|| text.ends_with(":80").then_some(80));
        Some(Self { host: plain(url.host_str()?), port })
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        self.host == host && self.port.is_none_or(|own| own == port)
    }
}

/// The rule for every connection made on behalf of an agent. A cheap handle.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allowed: Arc<[Allowed]>,
}

impl Guard {
    /// Public addresses, and these.
    pub fn new(allowed: impl IntoIterator<Item = Allowed>) -> Self {
        Self { allowed: allowed.into_iter().collect() }
    }

    /// What can be said of an address before its name is looked up.
    pub fn check(&self, url: &Url) -> Result<(), Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme(format!("{}:", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Userinfo);
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(Refused::NoHost)?;
        self.check_host(host, url.port_or_known_default().unwrap_or(0))
    }

    fn check_host(&self, host: &str, port: u16) -> Result<(), Refused> {
        let host = plain(host);
        if self.is_allowed(&host, port) {
            return Ok(());
        }
        if REFUSED_PORTS.contains(&port) {
            return Err(Refused::Port(port));
        }
        match host.parse::<IpAddr>() {
            Ok(address) if !is_public(address) => Err(Refused::NotPublic(shown(&host, port), address)),
            _ => Ok(()),
        }
    }

    /// The addresses of a host that may be connected to; never empty.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Refused> {
        self.check_host(host, port)?;
        let host = plain(host);
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![SocketAddr::new(address, port)],
            Err(_) => {
                match tokio::time::timeout(LOOKUP, tokio::net::lookup_host((host.as_str(), port))).await {
                    Ok(Ok(found)) => found.collect(),
                    _ => Vec::new(),
                }
            }
        };
        self.usable(&host, port, &found)
    }

    /// For a connection whose port was checked before with [`Guard::resolve`]: here only the name is known.
    pub(super) async fn resolve_again(&self, host: &str) -> Result<Vec<SocketAddr>, Refused> {
        let named = self.allowed.iter().find(|entry| entry.host == plain(host));
        self.resolve(host, named.and_then(|entry| entry.port).unwrap_or(443)).await
    }

    /// Of a name with public and other addresses only the public ones are used.
    fn usable(&self, host: &str, port: u16, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, Refused> {
        let Some(first) = found.first() else { return Err(Refused::Unknown(host.to_owned())) };
        if self.is_allowed(host, port) {
            return Ok(found.to_vec());
        }
        let public: Vec<SocketAddr> =
            found.iter().copied().filter(|address| is_public(address.ip())).collect();
        if public.is_empty() { Err(Refused::NotPublic(shown(host, port), first.ip())) } else { Ok(public) }
    }

    fn is_allowed(&self, host: &str, port: u16) -> bool {
        self.allowed.iter().any(|entry| entry.covers(host, port))
    }
}

/// Without brackets, final dot and capitals: one spelling for one host.
fn plain(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// As it must be written into the setting.
fn shown(host: &str, port: u16) -> String {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    if matches!(port, 80 | 443) { host } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, url: &str) -> Result<(), Refused> {
        guard.check(&Url::parse(url).unwrap())
    }

    #[test]
    fn every_spelling_of_this_machine_is_refused() {
        let guard = Guard::default();
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.0.0.1/",
            "http://0177.0.0.1/",
            "http://0/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[64:ff9b::a9fe:a9fe]/",
            "http://[fe80::1]/",
            "http://127.0.0.1./",
            "http://１２７.0.0.1/",
        ] {
            assert!(matches!(check(&guard, url), Err(Refused::NotPublic(..))), "{url}");
        }
        assert_eq!(check(&guard, "http://93.184.216.34:8080/"), Ok(()));
    }

    #[test]
    fn other_schemes_passwords_and_odd_ports_are_refused() {
        let guard = Guard::new([Allowed::parse("files.example").unwrap()]);
        for url in ["file:///etc/passwd", "ftp://x.example/", "gopher://x.example/", "data:text/html,x"] {
            assert!(matches!(check(&guard, url), Err(Refused::Scheme(_))), "{url}");
        }
        assert_eq!(check(&guard, "http://me:secret@x.example/"), Err(Refused::Userinfo));
        assert_eq!(check(&guard, "http://me@files.example/"), Err(Refused::Userinfo));
        assert_eq!(check(&guard, "http://x.example:25/"), Err(Refused::Port(25)));
        assert_eq!(check(&guard, "http://files.example:25/"), Ok(()));
    }

    #[test]
    fn what_is_allowed_is_allowed_as_written_and_no_further() {
        let allowed = ["127.0.0.1:8080", "Intranet.Example", "[::1]:3000", "10.0.0.1:80"];
        let guard = Guard::new(allowed.iter().filter_map(|text| Allowed::parse(text)));
        for good in
            ["http://127.0.0.1:8080/x", "http://127.1:8080/", "http://[::1]:3000/", "http://10.0.0.1/"]
        {
            assert_eq!(check(&guard, good), Ok(()), "{good}");
        }
        for bad in ["http://127.0.0.1:8081/", "http://127.0.0.2:8080/", "http://[::1]/", "https://10.0.0.1/"]
        {
            assert!(matches!(check(&guard, bad), Err(Refused::NotPublic(..))), "{bad}");
        }
        for wrong in ["", "*", "http://x/", "x/y", "me@x", "x:99999", "a b"] {
            assert_eq!(Allowed::parse(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_name_is_judged_by_what_it_means() {
        let refused = Guard::default().resolve("localhost", 8080).await.unwrap_err();
        assert!(refused.to_string().contains("web.allow = [\"localhost:8080\"]"), "{refused}");
        let guard = Guard::new(Allowed::parse("localhost"));
        assert!(
            guard.resolve("localhost.", 8080).await.unwrap().iter().all(|found| found.ip().is_loopback())
        );
        // Allowing a number does not allow every name that leads there.
        let guard = Guard::new(Allowed::parse("127.0.0.1:8080"));
        assert!(guard.resolve("localhost", 8080).await.is_err());
        let unknown = guard.resolve("no-such-name.invalid", 80).await;
        assert_eq!(unknown, Err(Refused::Unknown("no-such-name.invalid".into())));
    }

    #[test]
    fn of_a_name_with_both_kinds_only_the_public_addresses_are_used() {
        let found = ["10.0.0.1:80", "1.1.1.1:80"].map(|address| address.parse().unwrap());
        assert_eq!(Guard::default().usable("x", 80, &found), Ok(vec![found[1]]));
        let allowing = Guard::new(Allowed::parse("x"));
        assert_eq!(allowing.usable("x", 80, &found), Ok(found.to_vec()));
    }
}
