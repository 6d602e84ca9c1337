//! The gate of a browser: a SOCKS5 server on loopback through which all its connections go, each checked by the guard.
//!
//! SOCKS and not HTTP: pages, WebSockets and TLS are the same to it, names arrive unresolved, and nothing of what passes
//! is read. The browser resolves nothing itself, so redirects, frames, scripts and rebound names all end here.

use super::guard::{Guard, Refused};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

/// A browser uses six connections a host; a page with fifty hosts is not rare.
const AT_ONCE: usize = 512;
const HANDSHAKE: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(20);
/// Kept for the next report; a page that tries a thousand addresses needs no thousand lines.
const REMEMBERED: usize = 10;

/// An open gate. It closes, with everything that passes, when it is dropped.
#[derive(Debug)]
pub struct Gate {
    port: u16,
    refused: Arc<Mutex<VecDeque<Refused>>>,
    task: AbortHandle,
}

impl Gate {
    pub async fn open(guard: Guard) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let refused: Arc<Mutex<VecDeque<Refused>>> = Arc::default();
        let task = tokio::spawn(serve(listener, guard, Arc::clone(&refused))).abort_handle();
        Ok(Self { port, refused, task })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What was refused since this was asked last.
    pub fn take_refused(&self) -> Vec<Refused> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, guard: Guard, refused: Arc<Mutex<VecDeque<Refused>>>) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (guard, refused) = (guard.clone(), Arc::clone(&refused));
                connections.spawn(async move {
                    pass(stream, &guard, &refused).await;
                    drop(permit);
                });
            }
            // Too many open files: the next one may pass.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(mut client: TcpStream, guard: &Guard, refused: &Mutex<VecDeque<Refused>>) {
    let Ok(Some((host, port))) = timeout(HANDSHAKE, greet(&mut client)).await else { return };
    let addresses = match guard.resolve(&host, port).await {
        Ok(addresses) => addresses,
        Err(reason) => {
            let code = if matches!(reason, Refused::Unknown(_)) { 4 } else { 2 };
            remember(refused, reason);
            return reply(&mut client, code).await;
        }
    };
    match timeout(CONNECT, TcpStream::connect(addresses.as_slice())).await {
        Ok(Ok(mut server)) => {
            reply(&mut client, 0).await;
            let _ = copy_bidirectional(&mut client, &mut server).await;
        }
        Ok(Err(_)) => reply(&mut client, 5).await,
        Err(_) => reply(&mut client, 4).await,
    }
}

fn remember(refused: &Mutex<VecDeque<Refused>>, reason: Refused) {
    let mut list = refused.lock().unwrap_or_else(PoisonError::into_inner);
    if !list.contains(&reason) && list.len() < REMEMBERED {
        list.push_back(reason);
    }
}

/// Greeting and request: whom the browser wants to reach. `None`: it speaks something else.
async fn greet(client: &mut TcpStream) -> Option<(String, u16)> {
    let version = client.read_u8().await.ok()?;
    let methods = client.read_u8().await.ok()?;
    let mut skipped = vec![0; usize::from(methods)];
    client.read_exact(&mut skipped).await.ok()?;
    if version != 5 || !skipped.contains(&0) {
        return None;
    }
    client.write_all(&[5, 0]).await.ok()?;
    let mut head = [0; 4];
    client.read_exact(&mut head).await.ok()?;
    let [5, 1, _, kind] = head else { return None };
    let host = match kind {
        1 => IpAddr::from(Ipv4Addr::from_bits(client.read_u32().await.ok()?)).to_string(),
        4 => IpAddr::from(Ipv6Addr::from_bits(client.read_u128().await.ok()?)).to_string(),
        3 => {
            let length = client.read_u8().await.ok()?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name).await.ok()?;
            String::from_utf8(name).ok()?
        }
        _ => return None,
    };
    Some((host, client.read_u16().await.ok()?))
}

async fn reply(client: &mut TcpStream, code: u8) {
    // Whether it is heard is the browser's business.
    let _ = client.write_all(&[5, code, 0, 1, 0, 0, 0, 0, 0, 0]).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::guard::Allowed;
    use fugato_testkit::web::{Answer, Server};

    async fn through(gate: &Gate, host: &str, port: u16) -> (u8, TcpStream) {
        let mut stream = TcpStream::connect(("127.0.0.1", gate.port())).await.unwrap();
        stream.write_all(&[5, 1, 0]).await.unwrap();
        let mut chosen = [0; 2];
        stream.read_exact(&mut chosen).await.unwrap();
        let mut request = vec![5, 1, 0, 3, u8::try_from(host.len()).unwrap()];
        request.extend_from_slice(host.as_bytes());
        request.extend_from_slice(&port.to_be_bytes());
        stream.write_all(&request).await.unwrap();
        let mut answer = [0; 10];
        stream.read_exact(&mut answer).await.unwrap();
        (answer[1], stream)
    }

    #[tokio::test]
    async fn only_what_the_guard_allows_passes_the_gate() {
        let server = Server::start(|_| Answer::new(200, "text/plain", "through"));
        let port = server.port();
        let gate = Gate::open(Guard::new(Allowed::parse(&format!("127.0.0.1:{port}")))).await.unwrap();
        let (code, mut stream) = through(&gate, "127.0.0.1", port).await;
        assert_eq!(code, 0);
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("through"), "{answer}");
        for host in ["localhost", "127.0.0.2", "::1", "169.254.169.254"] {
            assert_eq!(through(&gate, host, port).await.0, 2, "{host}");
        }
        assert_eq!(through(&gate, "no-such-name.invalid", 80).await.0, 4);
        assert_eq!(gate.take_refused().len(), 5);
        assert!(gate.take_refused().is_empty());
    }

    #[tokio::test]
    async fn nonsense_is_hung_up_on() {
        let gate = Gate::open(Guard::default()).await.unwrap();
        for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x05\x01\x02", b"\x05\x01\x00\x05\x02\x00\x01"] {
            let mut stream = TcpStream::connect(("127.0.0.1", gate.port())).await.unwrap();
            stream.write_all(nonsense).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            assert!(rest.len() <= 2, "{rest:?}");
        }
    }
}
