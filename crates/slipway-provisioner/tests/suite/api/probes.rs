//! What is open to anybody who reaches the port.

use super::bench::Bench;

#[tokio::test]
async fn probes_answer_without_a_token() {
    let bench = Bench::start().await;
    for path in ["/healthz", "/readyz"] {
        let answer = bench.get(path).send().await.expect("an answer");
        assert_eq!((answer.status().as_u16(), answer.text().await.expect("text").as_str()), (200, "ok"));
    }
}

#[tokio::test]
async fn the_explorer_and_all_its_files_come_from_the_program_itself() {
    let bench = Bench::start().await;
    let answer = bench.get("/").send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 200);
    assert!(answer.headers()["content-type"].to_str().expect("text").starts_with("text/html"));
    assert!(answer.headers()["content-security-policy"].to_str().expect("text").contains("default-src 'self'"));
    let page = answer.text().await.expect("text");
    assert!(!page.contains("https://"), "nothing from elsewhere");
    let named: Vec<&str> = page.split('"').filter(|part| part.starts_with("graphiql/")).collect();
    assert_eq!(named.len(), 5);
    for file in named {
        let answer = bench.get(&format!("/{file}")).send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 200, "{file}");
        let kind = answer.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(kind.starts_with("text/javascript") || kind.starts_with("text/css"), "{file}: {kind}");
        assert!(answer.bytes().await.expect("content").len() > 100);
    }
}
