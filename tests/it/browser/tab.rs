//! A tab of its own, and the hands and eyes of whoever sits before it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::chromium::{Chromium, Event};

/// How long anything a person waits for may take; a busy machine is slow, not wrong.
const PATIENCE: Duration = Duration::from_secs(120);

/// What went on in a tab that nobody asked for.
#[derive(Debug, Default)]
struct Seen {
    /// Exceptions, console errors, dialogs that were not ours.
    wrongs: Vec<String>,
    /// Addresses asked of the network.
    requests: Vec<String>,
    /// Documents that came without a strict policy.
    unguarded: Vec<String>,
    /// Bytes received, headers included.
    received: u64,
}

pub struct Tab {
    chromium: Arc<Chromium>,
    session: String,
    base: String,
    seen: Arc<Mutex<Seen>>,
}

/// A screen: width, height, and whether it is a phone's.
#[derive(Debug, Clone, Copy)]
pub struct Screen(pub u32, pub u32, pub bool);

pub const DESKTOP: Screen = Screen(1280, 800, false);
pub const PHONE: Screen = Screen(390, 844, true);

impl Tab {
    /// Opens in a context of its own: no cookie is shared with any other tab.
    pub async fn open(chromium: Arc<Chromium>, base: &str) -> Self {
        let call = |method, params| chromium.call(None, method, params);
        let context = call("Target.createBrowserContext", json!({}))
            .await
            .unwrap();
        let page = json!({ "url": "about:blank", "browserContextId": context["browserContextId"] });
        let target = call("Target.createTarget", page).await.unwrap();
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = call("Target.attachToTarget", attach).await.unwrap();
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let events = chromium.listen(&session);
        tokio::spawn(watch(
            events,
            seen.clone(),
            chromium.clone(),
            session.clone(),
        ));
        let tab = Self {
            chromium,
            session,
            base: base.to_owned(),
            seen,
        };
        for domain in [
            "Page.enable",
            "Runtime.enable",
            "Network.enable",
            "Log.enable",
        ] {
            tab.call(domain, json!({})).await;
        }
        tab.screen(DESKTOP, "light").await;
        tab
    }

    pub async fn call(&self, method: &str, params: Value) -> Value {
        let answer = self.chromium.call(Some(&self.session), method, params);
        answer.await.unwrap_or_else(|why| panic!("{why}"))
    }

    pub async fn screen(&self, Screen(width, height, mobile): Screen, scheme: &str) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile,
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics)
            .await;
        let scheme = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "features": scheme });
        self.call("Emulation.setEmulatedMedia", media).await;
    }

    /// Goes somewhere and waits until it is all there.
    pub async fn go(&self, path: &str) {
        let url = format!("{}{path}", self.base);
        self.call("Page.navigate", json!({ "url": url })).await;
        self.until("document.readyState === 'complete'").await;
    }

    /// Goes there again and again until it is so: what a server records now and then is
    /// not there at once.
    pub async fn go_until(&self, path: &str, expression: &str) {
        let began = Instant::now();
        loop {
            self.go(path).await;
            if self.eval(expression).await == true {
                return;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "never true at {path}: {expression}; {}",
                self.situation().await
            );
        }
    }

    /// What an expression is worth, when it is worth anything at all: asked again, across
    /// pages too, until it is.
    pub async fn until(&self, expression: &str) -> Value {
        let began = Instant::now();
        let asked = format!(
            "new Promise((done) => {{ const end = Date.now() + 5000; const look = () => {{ \
             let found; try {{ found = ({expression}); }} catch {{ found = null; }} \
             if (found || Date.now() > end) done(found ?? null); else setTimeout(look, 25); }}; look(); }})"
        );
        loop {
            let params = json!({
                "expression": asked, "awaitPromise": true, "returnByValue": true,
            });
            let answer = self
                .chromium
                .call(Some(&self.session), "Runtime.evaluate", params);
            let value = answer.await.map(|answer| answer["result"]["value"].clone());
            match value {
                Ok(value) if is_something(&value) => return value,
                // Nothing yet, or the page was left while it was asked.
                _ if began.elapsed() < PATIENCE => {}
                other => panic!(
                    "never true: {expression}: {other:?}; {}",
                    self.situation().await
                ),
            }
        }
    }

    async fn situation(&self) -> String {
        let params = json!({
            "expression": "location.href + '\\n' + document.body.innerText", "returnByValue": true,
        });
        let answer = self
            .chromium
            .call(Some(&self.session), "Runtime.evaluate", params);
        answer
            .await
            .map_or_else(|why| why, |at| at["result"]["value"].to_string())
    }

    /// An expression at once; promises are awaited.
    pub async fn eval(&self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true,
        });
        let answer = self.call("Runtime.evaluate", params).await;
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].clone()
    }

    /// Until the page says this, anywhere.
    pub async fn sees(&self, words: &str) {
        let words = Value::from(words);
        self.until(&format!("document.body.innerText.includes({words})"))
            .await;
    }

    pub async fn text(&self) -> String {
        let text = self.eval("document.body.innerText").await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks the middle of the first thing that fits, as a mouse does.
    pub async fn click(&self, selector: &str) {
        self.click_on(selector, "").await;
    }

    /// The first of them that says this.
    pub async fn click_on(&self, selector: &str, words: &str) {
        let (selector, words) = (Value::from(selector), Value::from(words));
        let find = format!(
            "(() => {{ const it = [...document.querySelectorAll({selector})]\
             .find((one) => one.textContent.includes({words}) && one.getClientRects().length); \
             if (!it || !document.documentElement.hasAttribute('data-ready') && document.querySelector('script[src]')) return null; \
             it.scrollIntoView({{ block: 'center', inline: 'center' }}); \
             const box = it.getClientRects()[0]; \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let place = self.until(&find).await;
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", event).await;
        }
    }

    /// Types into a field, in place of what was there.
    pub async fn fill(&self, selector: &str, text: &str) {
        self.click(selector).await;
        let all = format!("document.querySelector({}).select()", Value::from(selector));
        self.eval(&all).await;
        self.call("Input.insertText", json!({ "text": text })).await;
    }

    pub async fn press(&self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            one if one.chars().count() == 1 => one,
            _ => "",
        };
        let kind = if text.is_empty() {
            "rawKeyDown"
        } else {
            "keyDown"
        };
        let down =
            json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code(key) });
        self.call("Input.dispatchKeyEvent", down).await;
        let up = json!({ "type": "keyUp", "key": key });
        self.call("Input.dispatchKeyEvent", up).await;
    }

    /// Until the page takes what one gives it.
    async fn until_ready(&self) {
        self.until("document.documentElement.hasAttribute('data-ready')")
            .await;
    }

    /// Drags files from the desktop over the page and lets them go there.
    pub async fn drop_files(&self, files: &[&Path]) {
        self.until_ready().await;
        let data = json!({ "items": [], "files": files, "dragOperationsMask": 1 });
        for kind in ["dragEnter", "dragOver", "drop"] {
            let event = json!({ "type": kind, "x": 400, "y": 300, "data": data });
            self.call("Input.dispatchDragEvent", event).await;
        }
    }

    /// Picks files in the dialog a field opens.
    pub async fn choose_files(&self, selector: &str, files: &[&Path]) {
        self.until_ready().await;
        let find = format!("document.querySelector({})", Value::from(selector));
        let field = self
            .call("Runtime.evaluate", json!({ "expression": find }))
            .await;
        let chosen = json!({ "files": files, "objectId": field["result"]["objectId"] });
        self.call("DOM.setFileInputFiles", chosen).await;
    }

    /// The whole page as PNG.
    pub async fn picture(&self) -> Vec<u8> {
        let size = self
            .eval("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
            .await;
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.call("Page.captureScreenshot", asked).await;
        let data = shot["data"].as_str().expect("an image");
        STANDARD.decode(data).expect("in base 64")
    }

    /// Bytes received until now.
    pub fn received(&self) -> u64 {
        self.seen.lock().unwrap().received
    }

    /// Nothing went wrong, nobody else was asked for anything, every page was guarded.
    pub fn is_blameless(&self) {
        let seen = self.seen.lock().unwrap();
        assert!(seen.wrongs.is_empty(), "{:#?}", seen.wrongs);
        assert!(
            seen.unguarded.is_empty(),
            "without a policy: {:?}",
            seen.unguarded
        );
        let elsewhere = |url: &&String| !url.starts_with(&self.base) && !url.starts_with("about:");
        let elsewhere: Vec<_> = seen.requests.iter().filter(elsewhere).collect();
        assert!(
            elsewhere.is_empty(),
            "other hosts were asked: {elsewhere:?}"
        );
    }

    /// Takes back what a test provoked on purpose.
    pub fn expect_wrong(&self, words: &str) {
        let mut seen = self.seen.lock().unwrap();
        let before = seen.wrongs.len();
        seen.wrongs.retain(|wrong| !wrong.contains(words));
        assert!(seen.wrongs.len() < before, "nothing says `{words}`");
    }
}

fn is_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value != ""
}

fn code(key: &str) -> u32 {
    match key {
        "Enter" => 13,
        "ArrowLeft" => 37,
        "ArrowRight" => 39,
        "Tab" => 9,
        other => other
            .chars()
            .next()
            .map_or(0, |c| c.to_ascii_uppercase().into()),
    }
}

/// Writes down what happens, and answers dialogs: a person who asked for it says yes.
async fn watch(
    mut events: mpsc::UnboundedReceiver<Event>,
    seen: Arc<Mutex<Seen>>,
    chromium: Arc<Chromium>,
    session: String,
) {
    while let Some((method, params)) = events.recv().await {
        if method == "Page.javascriptDialogOpening" {
            let yes = json!({ "accept": true });
            let _ = chromium
                .call(Some(&session), "Page.handleJavaScriptDialog", yes)
                .await;
        }
        note(&mut seen.lock().unwrap(), &method, &params);
    }
}

fn note(seen: &mut Seen, method: &str, params: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match method {
        "Network.requestWillBeSent" => seen.requests.push(text(&params["request"]["url"])),
        "Network.loadingFinished" => {
            seen.received += params["encodedDataLength"].as_f64().unwrap_or(0.0) as u64;
        }
        "Network.responseReceived" if params["type"] == "Document" => {
            let response = &params["response"];
            let headers = response["headers"].as_object().into_iter().flatten();
            let mut policies =
                headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-security-policy"));
            let strict = policies.any(|(_, policy)| {
                let policy = text(policy);
                policy.contains("default-src 'none'") && !policy.contains("unsafe")
            });
            if !strict {
                seen.unguarded.push(text(&response["url"]));
            }
        }
        "Runtime.exceptionThrown" => seen.wrongs.push(params["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled" if params["type"] == "error" => {
            seen.wrongs.push(params["args"].to_string());
        }
        "Log.entryAdded" if params["entry"]["level"] == "error" => {
            seen.wrongs.push(params["entry"].to_string());
        }
        "Page.javascriptDialogOpening" if params["type"] == "alert" => {
            seen.wrongs.push(format!("alert: {}", params["message"]));
        }
        _ => {}
    }
}
