//! Model servers on this machine, on their well-known ports. Asked only when nothing else is configured.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// A refused connection on loopback is told at once; these bound a port that is taken by something silent.
const CONNECT: Duration = Duration::from_millis(100);
const READ: Duration = Duration::from_millis(500);
/// For all servers together: a person without a model waits this long for the message that says so.
const TOTAL: Duration = Duration::from_millis(800);
const MOST_BYTES: u64 = 256 * 1024;

/// A server that may be running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// The provider its models belong to.
    pub provider: String,
    pub address: SocketAddr,
    /// Where it lists its models.
    pub list_path: String,
}

impl LocalServer {
    /// Ollama, LM Studio, llama.cpp and vLLM.
    pub fn well_known() -> Vec<Self> {
        let server = |provider: &str, port: u16, path: &str| Self {
            provider: provider.to_owned(),
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            list_path: path.to_owned(),
        };
        vec![
            server("ollama", 11434, "/api/tags"),
            server("lmstudio", 1234, "/v1/models"),
            server("llamacpp", 8080, "/v1/models"),
            server("vllm", 8000, "/v1/models"),
        ]
    }

    /// Which of these servers are running, with their first models as `provider/name`, in their order. All are asked at
    /// once, and what has not answered in [`TOTAL`] is not running.
    pub fn running(servers: &[Self]) -> Vec<(Self, String)> {
        let (tell, told) = mpsc::channel();
        for (at, server) in servers.iter().cloned().enumerate() {
            let tell = tell.clone();
            // Ends by its own timeouts, or with the process; nobody waits for it.
            std::thread::spawn(move || tell.send((at, server.first_model())));
        }
        drop(tell);
        let deadline = Instant::now() + TOTAL;
        let mut found = BTreeMap::new();
        while let Ok((at, model)) = told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            found.extend(model.map(|model| (at, model)));
        }
        found.into_iter().filter_map(|(at, model)| Some((servers.get(at)?.clone(), model))).collect()
    }

    /// The first model it lists, as `provider/name`.
    fn first_model(&self) -> Option<String> {
        let mut stream = TcpStream::connect_timeout(&self.address, CONNECT).ok()?;
        stream.set_read_timeout(Some(READ)).ok()?;
        stream.set_write_timeout(Some(READ)).ok()?;
        // 1.0, so that the body is neither chunked nor kept open.
        let request = format!(
            "GET {} HTTP/1.0\r\nHost: {}\r\nAccept: application/json\r\n\r\n",
            self.list_path, self.address
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut response = Vec::new();
        stream.take(MOST_BYTES).read_to_end(&mut response).ok()?;
        let text = std::str::from_utf8(&response).ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        let is_ok = head.split(' ').nth(1) == Some("200");
        let list: Value = serde_json::from_str(body).ok().filter(|_| is_ok)?;
        let name = list.pointer("/models/0/name").or_else(|| list.pointer("/data/0/id"))?.as_str()?;
        Some(format!("{}/{name}", self.provider))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(response: &'static str) -> LocalServer {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 512];
            let _ = stream.read(&mut head);
            stream.write_all(response.as_bytes()).unwrap();
        });
        LocalServer { provider: "p".into(), address, list_path: "/v1/models".into() }
    }

    #[test]
    fn the_first_model_of_a_running_server_is_found() {
        let listed = serve("HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"qwen/3\"}]}").first_model();
        assert_eq!(listed.as_deref(), Some("p/qwen/3"));
        let listed = serve("HTTP/1.0 200 OK\r\n\r\n{\"models\":[{\"name\":\"llama:7b\"}]}").first_model();
        assert_eq!(listed.as_deref(), Some("p/llama:7b"));
    }

    #[test]
    fn all_servers_are_asked_at_once_and_the_first_in_order_is_first() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = LocalServer {
            provider: "silent".into(),
            address: silent.local_addr().unwrap(),
            list_path: "/".into(),
        };
        let good = serve("HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"one\"}]}");
        let other = serve("HTTP/1.0 200 OK\r\n\r\n{\"data\":[{\"id\":\"two\"}]}");
        let servers = [vec![silent; 8], vec![good.clone(), other.clone()]].concat();
        let found = LocalServer::running(&servers);
        assert_eq!(found, [(good, "p/one".to_owned()), (other, "p/two".to_owned())]);
    }

    #[test]
    fn something_else_on_the_port_is_no_model_server() {
        for response in [
            "HTTP/1.0 404 No\r\n\r\n{\"data\":[{\"id\":\"x\"}]}",
            "SSH-2.0\r\n",
            "HTTP/1.0 200 OK\r\n\r\n<html>",
            "",
        ] {
            assert_eq!(serve(response).first_model(), None, "{response}");
        }
    }
}
