//! Nothing answers without the token, except what the table marks as open.

use slipway_server::http::{Access, ENDPOINTS};

use crate::running::{TOKEN, server};

#[tokio::test]
async fn every_endpoint_of_the_table_asks_for_the_token_except_health_and_metrics() {
    let running = server().await;
    let open: Vec<_> = ENDPOINTS.iter().filter(|e| e.access == Access::Open).map(|e| e.path).collect();
    assert_eq!(open, ["/livez", "/readyz", "/metrics"], "whoever opens another one must say so here");
    for endpoint in ENDPOINTS {
        let path = endpoint.path.replace("{id}", "0198c0de-0000-7000-8000-000000000000");
        let short = &TOKEN[..TOKEN.len() - 1];
        for token in [None, Some("wrong"), Some(short), Some("")] {
            let answer = running.send_with(endpoint.method.as_str(), &path, token, "{}").await;
            match endpoint.access {
                Access::Open => assert_eq!(answer.status, 200, "{path}: {answer:?}"),
                Access::Token => {
                    assert_eq!(answer.status, 401, "{path} with {token:?}: {answer:?}");
                    assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"slipway\""));
                    assert!(answer.body.contains("\"error\":\"unauthorized\""), "{answer:?}");
                }
            }
        }
        if endpoint.access == Access::Token {
            let answer = running.send(endpoint.method.as_str(), &path, "{}").await;
            assert_ne!(answer.status, 401, "{path}: {answer:?}");
        }
    }
    let page = running.send_with("GET", "/metrics", None, "").await.body;
    assert!(page.contains("slipway_broker_auth_failures_total{reason=\"missing\"}"), "{page}");
    running.server.stop().await;
}
