//! An embeddings service that answers from a script, then well.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

pub const RATE_LIMIT: &str = r#"{"error":{"message":"Rate limit reached for double on tokens per min (TPM): Limit 1000, Used 976, Requested 70. Please try again in 3ms.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#;
pub const TOO_MANY_REQUESTS: &str = r#"{"error":{"message":"Rate limit reached for double on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s. You can increase your rate limit by adding a payment method to your account at https://platform.openai.com/account/billing.","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#;
pub const QUOTA: &str = r#"{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
pub const TOO_MANY_TOKENS: &str = r#"{"error":{"message":"Requested 416735 tokens, max 300000 tokens per request","type":"max_tokens_per_request","param":null,"code":"max_tokens_per_request"}}"#;
/// As Ollama says it of one input among many.
pub const CONTEXT_LENGTH: &str = r#"{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error","param":null,"code":null}}"#;
/// As nobody says it: in words that are not known here.
pub const UNHEARD_OF: &str = r#"{"error":{"message":"that will not do"}}"#;

const DIMENSION: usize = 8;

#[derive(Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Text(&'static str),
    Vectors,
    Numbers,
    WrongCount,
    WrongDimension,
    NotANumber,
    /// Well but for texts with this word, whose vector is nothing but zeros.
    ZerosFor(&'static str),
    /// Ends before the length it announced.
    Truncated,
    HangUp,
    Silence,
}

impl Answer {
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: vec![],
            body: Body::Text("{}"),
        }
    }

    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    pub fn body(self, text: &'static str) -> Self {
        self.with(Body::Text(text))
    }

    pub fn good() -> Self {
        Self::status(200).with(Body::Vectors)
    }

    pub fn numbers() -> Self {
        Self::status(200).with(Body::Numbers)
    }

    pub fn wrong_count() -> Self {
        Self::status(200).with(Body::WrongCount)
    }

    pub fn wrong_dimension() -> Self {
        Self::status(200).with(Body::WrongDimension)
    }

    pub fn not_a_number() -> Self {
        Self::status(200).with(Body::NotANumber)
    }

    pub fn zeros_for(word: &'static str) -> Self {
        Self::status(200).with(Body::ZerosFor(word))
    }

    pub fn truncated() -> Self {
        Self::status(200).with(Body::Truncated)
    }

    pub fn hang_up() -> Self {
        Self::status(200).with(Body::HangUp)
    }

    pub fn silence() -> Self {
        Self::status(200).with(Body::Silence)
    }

    fn with(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    fn is_good_for(&self, text: &str) -> bool {
        match self.body {
            Body::Vectors | Body::Numbers => true,
            Body::ZerosFor(word) => !text.contains(word),
            _ => false,
        }
    }
}

/// What the double makes of a text: a unit vector that tells it from the others.
pub fn vector(text: &str) -> Vec<f32> {
    let sum: usize = text.bytes().map(usize::from).sum();
    let mut vector = vec![0.0; DIMENSION];
    vector[sum % DIMENSION] = 1.0;
    vector
}

type Refuses = Box<dyn Fn(&[String]) -> bool + Send>;

#[derive(Default)]
struct Seen {
    script: std::collections::VecDeque<Answer>,
    /// A request of which this holds is answered so.
    refused: Option<(Refuses, Answer)>,
    /// Once so many texts were answered well, every request is answered so.
    spent: Option<(usize, Answer)>,
    sizes: Vec<usize>,
    keys: Vec<String>,
    answered: Vec<String>,
}

impl Seen {
    fn next(&mut self, texts: &[String]) -> Answer {
        match (&self.spent, &self.refused) {
            (Some((most, answer)), _) if self.answered.len() >= *most => answer.clone(),
            (_, Some((refuses, answer))) if refuses(texts) => answer.clone(),
            _ => self.script.pop_front().unwrap_or_else(Answer::good),
        }
    }
}

pub struct Double {
    url: String,
    seen: Arc<Mutex<Seen>>,
}

impl Double {
    pub async fn start(script: Vec<Answer>) -> Self {
        let seen = Arc::new(Mutex::new(Seen {
            script: script.into(),
            ..Seen::default()
        }));
        let shared = Arc::clone(&seen);
        let address = listen(move |stream| serve(stream, Arc::clone(&shared))).await;
        let url = format!("http://{address}/v1");
        Self { url, seen }
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// From now on a request is answered so if any of its texts holds the word.
    pub fn refuse(&self, word: &'static str, answer: Answer) {
        let holds = move |texts: &[String]| texts.iter().any(|text| text.contains(word));
        self.refuse_where(holds, answer);
    }

    /// From now on a request of which this holds is answered so.
    pub fn refuse_where(
        &self,
        refuses: impl Fn(&[String]) -> bool + Send + 'static,
        answer: Answer,
    ) {
        self.seen.lock().unwrap().refused = Some((Box::new(refuses), answer));
    }

    /// From the moment so many texts were answered well, everything is answered so, until
    /// [`Double::relent`].
    pub fn answer_after(&self, texts: usize, answer: Answer) {
        self.seen.lock().unwrap().spent = Some((texts, answer));
    }

    pub fn relent(&self) {
        self.seen.lock().unwrap().spent = None;
    }

    pub fn request_sizes(&self) -> Vec<usize> {
        self.seen.lock().unwrap().sizes.clone()
    }

    pub fn keys(&self) -> Vec<String> {
        self.seen.lock().unwrap().keys.clone()
    }

    /// Texts that were answered well, in order of arrival.
    pub fn answered(&self) -> Vec<String> {
        self.seen.lock().unwrap().answered.clone()
    }
}

/// Where connections are served, each in a task of its own.
pub(crate) async fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// One request a connection.
async fn serve(stream: TcpStream, seen: Arc<Mutex<Seen>>) {
    let mut stream = BufReader::new(stream);
    let (key, request) = read(&mut stream).await;
    let texts: Vec<String> = serde_json::from_value(request["input"].clone()).unwrap();
    assert_eq!(request["encoding_format"], "base64");
    let answer = {
        let mut seen = seen.lock().unwrap();
        let answer = seen.next(&texts);
        seen.sizes.push(texts.len());
        seen.keys.push(key);
        let good = texts.iter().filter(|text| answer.is_good_for(text));
        seen.answered.extend(good.cloned());
        answer
    };
    match answer.body {
        Body::HangUp => return,
        Body::Silence => std::future::pending().await,
        _ => {}
    }
    let bytes = written(&answer, &texts);
    // A client that gave up is not the double's concern.
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
}

/// The signature and the body of a request.
async fn read(stream: &mut BufReader<TcpStream>) -> (String, Value) {
    let request = request(stream).await;
    let body = serde_json::from_slice(&request.body).unwrap();
    (request.key, body)
}

pub(crate) struct Request {
    /// Method, path and protocol.
    pub line: String,
    pub key: String,
    pub body: Vec<u8>,
}

pub(crate) async fn request(stream: &mut BufReader<TcpStream>) -> Request {
    let (mut first, mut key, mut length) = (String::new(), String::new(), 0);
    stream.read_line(&mut first).await.unwrap();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        match name.to_ascii_lowercase().as_str() {
            "authorization" => key = value.to_owned(),
            "content-length" => length = value.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    Request {
        line: first.trim_end().to_owned(),
        key,
        body,
    }
}

fn written(answer: &Answer, texts: &[String]) -> Vec<u8> {
    let body = match answer.body {
        Body::Text(text) => text.to_owned(),
        _ => vectors(&answer.body, texts).to_string(),
    };
    let mut head = format!(
        "HTTP/1.1 {} Scripted\r\nconnection: close\r\n",
        answer.status
    );
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!("content-length: {}\r\n\r\n", body.len());
    let cut = match answer.body {
        Body::Truncated => body.len() / 2,
        _ => body.len(),
    };
    [head.as_bytes(), &body.as_bytes()[..cut]].concat()
}

/// Last first: an answer's order is in its indices.
fn vectors(body: &Body, texts: &[String]) -> Value {
    let item = |(index, text): (usize, &String)| {
        let mut vector = vector(text);
        match body {
            Body::NotANumber => vector[0] = f32::NAN,
            Body::WrongDimension => vector.push(0.0),
            Body::ZerosFor(word) if text.contains(word) => vector.fill(0.0),
            _ => {}
        }
        let bytes: Vec<u8> = vector.iter().flat_map(|v| v.to_le_bytes()).collect();
        let embedding = match body {
            Body::Numbers => json!(vector),
            _ => json!(BASE64_STANDARD.encode(bytes)),
        };
        json!({"object": "embedding", "index": index, "embedding": embedding})
    };
    let skipped = usize::from(matches!(body, Body::WrongCount));
    let data: Vec<_> = texts
        .iter()
        .enumerate()
        .skip(skipped)
        .rev()
        .map(item)
        .collect();
    json!({"object": "list", "data": data, "model": "double", "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}
