package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/tools"
	"nod/tools/mcp/wire"
)

// odd are items of results as servers send them, and what becomes of them.
var odd = map[string]struct{ item, want string }{
	"a number as text":    {`{"type":"text","text":42}`, "42"},
	"an object as text":   {`{"type":"text","text":{"a":1}}`, `{"a":1}`},
	"an unknown kind":     {`{"type":"video","data":"AAAA"}`, wire.Unshown},
	"no kind":             {`"hello"`, wire.Unshown},
	"data that is none":   {`{"type":"image","mimeType":"image/png","data":"%%%"}`, wire.Unshown},
	"an address of data":  {`{"type":"image","mimeType":"image/png","data":"data:image/png;base64,cG5n"}`, "file web_echo.png (image/png, 3 bytes)"},
	"an address of text":  {`{"type":"image","mimeType":"image/svg+xml","data":"data:image/svg+xml,<svg/>"}`, wire.Unshown},
	"a resource of none":  {`{"type":"resource"}`, wire.Unshown},
	"a resource's blob":   {`{"type":"resource","resource":{"uri":"a://b","blob":"%%%"}}`, wire.Unshown},
	"a link of a number":  {`{"type":"resource_link","uri":7,"name":"x"}`, wire.Unshown},
	"a link as it should": {`{"type":"resource_link","uri":"a://b","name":"x"}`, "resource a://b; x"},
}

// An item that nobody can read costs the item, and not the answer.
func TestOddItems(t *testing.T) {
	for name, c := range odd {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", stream), func(t *testing.T) {
				site := newSite(t, true, func() *sdk.Server { return build(t.TempDir()) })
				next := *site.handler.Load()
				site.set(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					var msg request
					if json.Unmarshal(body, &msg) != nil || msg.Method != "tools/call" {
						next.ServeHTTP(w, r)
						return
					}
					answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"before"},%s,{"type":"text","text":"behind"}]}}`, msg.ID, c.item)
					if stream {
						w.Header().Set("Content-Type", "text/event-stream")
						_, _ = fmt.Fprintf(w, ": a comment\r\n\r\nevent: message\r\nid: 1\r\ndata: %s\r\n\r\n", answer)
						return
					}
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, answer)
				}))
				b := connect(t, Options{Servers: []Server{site.server()}})
				b.says("web_echo", `{"text":"x"}`, "before\n"+c.want+"\nbehind", false)
			})
		}
	}
}

// A message that the SDK can read stays unchanged, byte for byte.
func TestTidyLeavesAlone(t *testing.T) {
	for _, message := range []string{
		``, `{`, `[]`, `{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":null}`, `{"id":1,"result":{"content":"x"}}`,
		`{"jsonrpc": "2.0", "id":1, "result": {"content":[{"type":"text","text":"a<b>"},{"type":"text"},{"type":"image","data":"cG5n","mimeType":"x"}], "z":1.0}}`,
		`{"id":1,"result":{"tools":[{"name":"a","execution":{"taskSupport":"optional"}},{"name":"b"}]}}`,
	} {
		if got := wire.Tidy([]byte(message)); string(got) != message {
			t.Errorf("%s became %s", message, got)
		}
	}
}

// A tool that only runs as a task, by the older protocol, is known as one.
func TestTasks(t *testing.T) {
	got := wire.Tidy([]byte(`{"id":1,"result":{"tools":[{"name":"a","inputSchema":{},"execution":{"taskSupport":"required"},"_meta":{"k":1}}]}}`))
	var m struct{ Result struct{ Tools []*sdk.Tool } }
	if err := json.Unmarshal(got, &m); err != nil || len(m.Result.Tools) != 1 || m.Result.Tools[0].Meta["k"] != 1.0 {
		t.Fatalf("%s: %v", got, err)
	}
	d, err := defined(m.Result.Tools[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.forModel(); err != nil || !d.Task {
		t.Errorf("a task %t, %v", d.Task, err)
	}
}

// An empty text is none: what is given beside it is shown.
func TestEmptyText(t *testing.T) {
	r := result(offer{as: "x"}, tools.Input{}, &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: ""}}, StructuredContent: map[string]any{"a": 1}}, nil)
	if r.Text != `{"a":1}` {
		t.Errorf("%q", r.Text)
	}
}

// A stream of events comes through as it is, however it comes, but for what has to
// be tidied; and none of its events without end.
func TestEvents(t *testing.T) {
	const in = ": hello\n\nevent: message\nid: 7\ndata: {\"id\":1,\ndata: \"result\":{\"content\":[{\"type\":\"odd\"}]}}\n\ndata: {}\r\n\r\nretry: 5\ndata: cut"
	const want = ": hello\n\nevent: message\nid: 7\ndata: {\"id\":1,\"result\":{\"content\":[{\"text\":\"" + wire.Unshown + "\",\"type\":\"text\"}]}}\n\ndata: {}\r\n\r\nretry: 5\ndata: cut"
	got, err := io.ReadAll(newEvents(io.NopCloser(iotest.OneByteReader(strings.NewReader(in))), 1<<20, &fault{}, nil))
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	endless := io.MultiReader(strings.NewReader("data: "), iotest.DataErrReader(strings.NewReader(strings.Repeat("x", 1<<20))))
	if _, err := io.ReadAll(newEvents(io.NopCloser(endless), 100<<10, &fault{}, nil)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("an event without end: %v", err)
	}
}

// Any message stays one message, and a result can be read.
func FuzzTidy(f *testing.F) {
	for _, c := range odd {
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[` + c.item + `]}}`))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		got := wire.Tidy(message)
		if json.Valid(message) != json.Valid(got) {
			t.Errorf("%q became %q", message, got)
		}
	})
}
