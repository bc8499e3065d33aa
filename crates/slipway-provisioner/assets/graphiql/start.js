// Starts the explorer: queries and mutations by POST, subscriptions by WebSocket, both at /graphql.
// Headers typed into the page are sent with requests and, for subscriptions, when the socket opens.
(function () {
  "use strict";
  var here = new URL("graphql", window.location.href);
  var socket = new URL(here);
  socket.protocol = here.protocol === "https:" ? "wss:" : "ws:";
  var headers = JSON.stringify({ Authorization: "Bearer <token>", tenant: "<global account>" }, null, 2);
  var query = [
    "# Type a token and a tenant under Headers first.",
    "query {",
    '  runtimeStatus(id: "6f1de04b-4b5a-4a1c-8b0a-2f9a3c1d0b6a") {',
    "    lastOperationStatus { id operation state message }",
    "    runtimeConnectionStatus { status }",
    "    problems { message }",
    "  }",
    "}",
    "",
  ].join("\n");
  var root = ReactDOM.createRoot(document.getElementById("graphiql"));
  root.render(
    React.createElement(GraphiQL, {
      fetcher: GraphiQL.createFetcher({ url: here.toString(), subscriptionUrl: socket.toString() }),
      defaultHeaders: headers,
      defaultQuery: query,
      shouldPersistHeaders: false,
      isHeadersEditorEnabled: true,
    })
  );
})();
