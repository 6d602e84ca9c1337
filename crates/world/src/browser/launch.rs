//! How a Chromium is found and started. The starting itself is somebody else's.

/// Names it has on the `PATH`, the usual first.
pub const PROGRAMS: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "brave-browser",
];

/// Places outside of the `PATH`.
pub const USUAL_PLACES: &[&str] = &[
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// The arguments of a browser that is driven over a pipe and reaches nothing except through the gates of its contexts.
///
/// `sandboxed` is false only where Chromium's own sandbox cannot be had: it refuses to start as root with it.
pub fn arguments(profile: &str, sandboxed: bool) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--headless",
        "--remote-debugging-pipe",
        "--disable-gpu",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-component-extensions-with-background-pages",
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--disable-extensions",
        "--disable-sync",
        "--disable-breakpad",
        "--disable-crash-reporter",
        "--disable-client-side-phishing-detection",
        "--disable-search-engine-choice-screen",
        "--metrics-recording-only",
        "--mute-audio",
        "--password-store=basic",
        "--use-mock-keychain",
        // A small /dev/shm is common in containers and kills pages.
        "--disable-dev-shm-usage",
        "--disable-features=MediaRouter,Translate,OptimizationHints,DialMediaRouteProvider,AutofillServerCommunication,\
         PreconnectToSearch,NavigationPredictor",
        // What passes no gate reaches nobody: no name means anything, and what belongs to no context has a dead proxy.
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
        "--proxy-server=socks5://127.0.0.1:1",
        "--proxy-bypass-list=<-loopback>",
        // UDP passes no gate.
        "--disable-quic",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--window-size=1280,800",
        "--hide-scrollbars",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(format!("--user-data-dir={profile}"));
    if !sandboxed {
        arguments.push("--no-sandbox".to_owned());
    }
    arguments.push("about:blank".to_owned());
    arguments
}
