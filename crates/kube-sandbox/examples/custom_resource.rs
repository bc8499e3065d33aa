//! An operator's first test: a definition, an object of it, and a watch that tells what happens.
//!
//! `cargo run -p kube-sandbox --example custom_resource`

use std::error::Error;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, ResourceExt as _,
    api::{ApiResource, DynamicObject, GroupVersionKind, PostParams, WatchEvent, WatchParams},
    runtime::{conditions::is_crd_established, wait::await_condition},
};
use kube_sandbox::{Server, Settings};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start(Settings::default()).await?;
    server.add_cluster("test").await?;
    let client = server.client("test")?;

    let size = json!({ "type": "integer", "minimum": 1 });
    let spec = json!({ "type": "object", "required": ["size"], "properties": { "size": size } });
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    }))?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &definition).await?;
    await_condition(definitions, "widgets.example.com", is_crd_established()).await?;

    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets");
    let widgets: Api<DynamicObject> = Api::namespaced_with(client, "default", &kind);
    let mut events = widgets.watch(&WatchParams::default(), "0").await?.boxed();

    let widget = |size: i64| DynamicObject::new("first", &kind).data(json!({ "spec": { "size": size } }));
    let refused = widgets.create(&PostParams::default(), &widget(0)).await.expect_err("the schema says at least 1");
    if let kube::Error::Api(status) = refused {
        println!("refused, as Kubernetes does it: {}", status.message);
    }
    widgets.create(&PostParams::default(), &widget(3)).await?;
    if let Some(WatchEvent::Added(seen)) = events.try_next().await? {
        println!("seen: {} of size {}", seen.name_any(), seen.data["spec"]["size"]);
    }
    Ok(())
}
