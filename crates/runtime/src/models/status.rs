//! What an HTTP status, an error object and a `Retry-After` header mean. Pure, but for the time of day it is handed.

use super::error::{ModelError, excerpt};
use fugato_model::chat::ModelFault;
use fugato_model::words;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::Duration;

/// What a provider said about an error, wherever it put it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// `type`, `code` and `status` words, lower case, separated by spaces.
    names: String,
    message: String,
    /// A status inside the body, for errors that come with 200.
    status: Option<u16>,
    retry_after: Option<Duration>,
}

impl Report {
    /// Reads the error out of a body; `None` when it holds none.
    pub fn of(body: &Value) -> Option<Self> {
        let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
        match body.get("error").filter(|error| !error.is_null()) {
            Some(Value::String(message)) => Some(Self { message: message.clone(), ..Self::default() }),
            Some(error) => Some(Self::of_object(error)),
            None => {
                let plain = body.get("message").or_else(|| body.get("detail"))?;
                let message = plain.as_str().map_or_else(|| plain.to_string(), str::to_owned);
                Some(Self { message, ..Self::of_object(body) })
            }
        }
    }

    /// Reads an error object itself.
    pub fn of_object(error: &Value) -> Self {
        let words =
            ["type", "code", "status"].map(|key| error.get(key).and_then(Value::as_str).unwrap_or(""));
        let reasons = error.get("details").and_then(Value::as_array).into_iter().flatten();
        let reasons: Vec<_> = reasons.filter_map(|detail| detail.get("reason")?.as_str()).collect();
        let message = error.get("message").map_or_else(String::new, |message| {
            message.as_str().map_or_else(|| message.to_string(), str::to_owned)
        });
        Self {
            names: format!("{} {}", words.join(" "), reasons.join(" ")).to_lowercase(),
            message,
            status: error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
            retry_after: retry_info(error),
        }
    }

    /// The error for people and for the engine.
    pub fn error(&self, provider: &str, status: Option<u16>) -> ModelError {
        let status = status.filter(|status| *status >= 400).or(self.status);
        let fault = self.fault(status);
        let what = match (self.message.trim(), self.names.trim()) {
            ("", "") => status.map_or_else(|| "?".to_owned(), |status| format!("HTTP {status}")),
            ("", names) => names.to_owned(),
            (message, _) => excerpt(message, 400),
        };
        let shown = status.map(|status| format!(" ({status})")).unwrap_or_default();
        let hint = self.hint(fault);
        let words = words!(
            "`{provider}` answered with an error{shown}: {what}{}",
            "`{provider}` 返回错误{shown}：{what}{}",
            hint
        );
        let mut error = ModelError::new(fault, words).retry_after(self.retry_after);
        error.status = status;
        error
    }

    fn hint(&self, fault: ModelFault) -> &'static str {
        let lower = self.message.to_lowercase();
        if fault == ModelFault::Rejected && lower.contains("does not support tools") {
            " [native_tools = \"no\"]"
        } else {
            ""
        }
    }

    fn fault(&self, status: Option<u16>) -> ModelFault {
        if self.is_overflow(status) {
            return ModelFault::ContextOverflow;
        }
        if self.names.contains("insufficient_quota") || self.names.contains("billing") {
            return ModelFault::Rejected;
        }
        match status {
            Some(401 | 403) => ModelFault::Unauthorized,
            Some(429) => ModelFault::RateLimited,
            Some(408 | 409 | 425 | 500..) => ModelFault::Transient,
            Some(413) => ModelFault::ContextOverflow,
            Some(status) => self.named().unwrap_or(if status < 400 {
                ModelFault::Transient
            } else {
                ModelFault::Rejected
            }),
            None => self.named().unwrap_or(ModelFault::Transient),
        }
    }

    /// The fault by the names vendors give their errors.
    fn named(&self) -> Option<ModelFault> {
        const NAMES: &[(ModelFault, &[&str])] = &[
            (ModelFault::RateLimited, &["rate_limit", "resource_exhausted", "too_many_requests"]),
            (
                ModelFault::Unauthorized,
                &[
                    "authentication",
                    "permission",
                    "invalid_api_key",
                    "api_key_invalid",
                    "unauthenticated",
                    "unauthorized",
                ],
            ),
            (
                ModelFault::Transient,
                &[
                    "overloaded",
                    "server_error",
                    "api_error",
                    "internal",
                    "unavailable",
                    "timeout",
                    "deadline_exceeded",
                    "aborted",
                ],
            ),
            (ModelFault::Rejected, &["invalid_request", "invalid_argument", "not_found", "model_not_found"]),
        ];
        let found = NAMES.iter().find(|(_, names)| names.iter().any(|name| self.names.contains(name)));
        found.map(|(fault, _)| *fault)
    }

    fn is_overflow(&self, status: Option<u16>) -> bool {
        const PHRASES: &[&str] = &[
            "prompt is too long",
            "maximum context length",
            "context length",
            "context size",
            "context window",
            "maximum number of tokens allowed",
            "input is too long",
            "exceeds the maximum number of tokens",
        ];
        if matches!(status, Some(401 | 403 | 429)) {
            return false;
        }
        let message = self.message.to_lowercase();
        self.names.contains("context_length_exceeded")
            || self.names.contains("exceed_context_size")
            || (!matches!(status, Some(500..)) && PHRASES.iter().any(|phrase| message.contains(phrase)))
    }
}

/// The error of a response with an error status. The body is whatever came, maybe a proxy's page.
pub(super) fn of_response(provider: &str, status: u16, body: &[u8], wait: Option<Duration>) -> ModelError {
    let report = serde_json::from_slice(body).ok().and_then(|body: Value| Report::of(&body));
    let report = report.unwrap_or_else(|| Report {
        message: excerpt(&String::from_utf8_lossy(body), 200),
        ..Report::default()
    });
    let error = report.error(provider, Some(status)).status(status);
    let wait = wait.or(error.retry_after);
    error.retry_after(wait)
}

/// The wait of `retry-after-ms` or `Retry-After`: seconds or a date; negative is none at all.
pub(super) fn retry_after(headers: &HeaderMap, unix_now: u64) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let seconds = |number: f64| {
        number.is_finite().then(|| Duration::try_from_secs_f64(number.clamp(0.0, 1e9)).ok()).flatten()
    };
    let millis = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    if let Some(wait) = millis.and_then(|millis| seconds(millis / 1000.0)) {
        return Some(wait);
    }
    let value = text("retry-after")?;
    match value.parse::<f64>() {
        Ok(number) => seconds(number),
        Err(_) => unix_time(value).map(|at| Duration::from_secs(at.saturating_sub(unix_now))),
    }
}

/// `"retryDelay": "34s"` among the details of a Google error.
fn retry_info(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds.clamp(0.0, 1e9)).ok()
}

/// Seconds since 1970 of `Wed, 21 Oct 2015 07:28:00 GMT`, the one form HTTP allows to be sent.
fn unix_time(date: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = date.split_once(", ")?;
    let mut words = rest.split(' ');
    let day: i64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let name = words.next()?;
    let month = i64::try_from(MONTHS.iter().position(|month| *month == name)?).ok()? + 1;
    let year: i64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // Days since 1970 in the Gregorian calendar, with years that begin in March.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    u64::try_from(days * 86_400 + hour * 3_600 + minute * 60 + second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;
    use serde_json::json;

    fn wait(name: &'static str, value: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        retry_after(&headers, 1_445_412_480)
    }

    #[test]
    fn waits_are_read_in_every_form_and_never_negative() {
        assert_eq!(wait("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(wait("retry-after", "-1"), Some(Duration::ZERO));
        assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(wait("retry-after", "Wed, 21 Oct 2009 07:28:00 GMT"), Some(Duration::ZERO));
        for bad in ["soon", "NaN", "inf", "Wed, 99 Foo 2015 07:28:00 GMT", "Wed, 21 Oct 2015"] {
            assert_eq!(wait("retry-after", bad), None, "{bad}");
        }
        let huge = of_response("p", 429, b"", wait("retry-after", "1000000000"));
        assert_eq!(huge.retry_after, Some(Duration::from_secs(300)));
    }

    #[test]
    fn vendors_errors_are_told_apart() {
        use ModelFault::*;
        for (status, body, expected) in [
            (
                400,
                json!({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}),
                ContextOverflow,
            ),
            (
                400,
                json!({"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}),
                ContextOverflow,
            ),
            (
                400,
                json!({"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}),
                ContextOverflow,
            ),
            (
                400,
                json!({"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}),
                ContextOverflow,
            ),
            (
                413,
                json!({"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}),
                ContextOverflow,
            ),
            (
                400,
                json!({"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}),
                Unauthorized,
            ),
            (
                401,
                json!({"error":{"type":"authentication_error","message":"invalid x-api-key"}}),
                Unauthorized,
            ),
            (403, json!({"error":"forbidden"}), Unauthorized),
            (404, json!({"error":{"type":"not_found_error","message":"model: x"}}), Rejected),
            (429, json!({"error":{"type":"rate_limit_error","message":"context length"}}), RateLimited),
            (
                429,
                json!({"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your quota"}}),
                Rejected,
            ),
            (529, json!({"error":{"type":"overloaded_error","message":"Overloaded"}}), Transient),
            (503, json!({"detail":"starting"}), Transient),
            (422, json!({"detail":[{"loc":["body"]}]}), Rejected),
            (200, json!({"error":{"type":"overloaded_error","message":"Overloaded"}}), Transient),
            (200, json!({"error":{"code":429,"message":"slow down"}}), RateLimited),
            (200, json!([{"error":{"code":503,"status":"UNAVAILABLE","message":"x"}}]), Transient),
        ] {
            let error = of_response("p", status, body.to_string().as_bytes(), None);
            assert_eq!(error.fault, expected, "{body}");
        }
    }

    #[test]
    fn a_google_error_carries_its_delay() {
        let body = json!({"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota",
            "details":[{"@type":"x"},{"@type":"RetryInfo","retryDelay":"34s"}]}});
        let error = of_response("gemini", 429, body.to_string().as_bytes(), None);
        assert_eq!(error.retry_after, Some(Duration::from_secs(34)));
    }

    #[test]
    fn a_proxys_page_is_shown_in_short() {
        let page = format!("<html>\n{}", "x".repeat(5_000));
        let error = of_response("p", 502, page.as_bytes(), None);
        assert_eq!(error.fault, ModelFault::Transient);
        assert!(error.words.en.contains("<html> xxx") && error.words.en.len() < 400, "{}", error.words.en);
    }
}
