package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

const everythingFile = "../../.deps/node_modules/@modelcontextprotocol/server-everything/dist/index.js"

// A kill -9 while a real server from npm runs a task, waits for an answer or tells of its
// progress. It keeps its tasks for one session alone, so the outcome is unknown to the next
// process. Nothing is called twice, and the next call is as ever, with what it links to.
func TestEverythingOutlivesAKill(t *testing.T) {
	if _, err := os.Stat(everythingFile); err != nil || os.Getenv("NOD_LONG") == "" {
		t.Skip("without NOD_LONG, or server-everything is not installed (make long, where npm is)")
	}
	addr := freeAddr(t)
	server := exec.Command("node", everythingFile, "streamableHttp")
	_, port, _ := strings.Cut(addr, ":")
	server.Env = append(os.Environ(), "PORT="+port)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	eventually(t, "the server listens", func() bool {
		c, err := net.Dial("tcp", "localhost:"+port)
		return err == nil && c.Close() == nil
	})
	for name, during := range map[string]struct{ tool, args, kill string }{
		"task":     {"simulate-research-query", `{"topic":"tea"}`, `"tasks/get"`},
		"question": {"simulate-research-query", `{"topic":"tea","ambiguous":true}`, "answer to everything"},
		"progress": {"trigger-long-running-operation", `{"duration":600,"steps":600}`, `"tools/call"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls, seen atomic.Int32
			proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "localhost:" + port})
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(raw))
				calls.Add(int32(bytes.Count(raw, []byte(`"tools/call"`))))
				seen.Add(int32(bytes.Count(raw, []byte(during.kill))))
				proxy.ServeHTTP(w, r)
			}))
			t.Cleanup(site.Close)
			t.Cleanup(site.CloseClientConnections)
			rule := func(req fakellm.Request) fakellm.Reply {
				switch last := req.Last(); {
				case last.Role == "tool":
					return fakellm.Reply{Text: "The tool says: " + last.Text()}
				case strings.Contains(last.Text(), "links"):
					return fakellm.Reply{Calls: []fakellm.Call{{Name: "everything_get-resource-links", Args: `{"count":2}`}}}
				}
				return fakellm.Reply{Calls: []fakellm.Call{{Name: "everything_" + during.tool, Args: during.args}}}
			}
			w := newSlackWorld(t, fakeslack.Options{})
			n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf("\n  mcp: [{name: everything, url: %q, read_only: [get-resource-links], risk: {get-resource-links: auto}}]\n", site.URL+"/mcp")})
			p := n.spawn()
			defer func() { p.kill() }()
			n.ready()
			at := w.mention("ada", "go")
			w.react("ada", n.ask(at, "everything_"+during.tool).place, "✅")
			if strings.HasPrefix(during.kill, `"`) {
				eventually(t, during.kill, func() bool { return seen.Load() > 0 })
			} else {
				n.find(at, during.kill)
			}
			p.kill()
			p = n.spawn()
			n.ready()
			n.find(at, "The tool says", "outcome unknown")
			if c := calls.Load(); c != 1 {
				t.Errorf("%d calls", c)
			}
			n.find(w.mention("ada", "links"), "The tool says", "resource")
		})
	}
}
