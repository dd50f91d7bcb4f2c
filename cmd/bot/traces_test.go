package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"nod/internal/fakeotlp"
	"nod/internal/fakeslack"
)

// kinds counts the spans of one kind.
func kinds(spans []fakeotlp.Span) map[string]int {
	out := map[string]int{}
	for _, s := range spans {
		out[s.Attr("gen_ai.operation.name")]++
	}
	return out
}

// whole says whether the spans are one turn with one call that was approved, all of it
// connected.
func whole(t *testing.T, spans []fakeotlp.Span) bool {
	t.Helper()
	found := kinds(spans)
	posts := found["post"]
	if delete(found, "post"); posts < 2 || !maps.Equal(found, map[string]int{"invoke_agent": 1, "chat": 2, "execute_tool": 1, "await_approval": 1}) {
		return false // the card and the answer are posts
	}
	root := spans[slices.IndexFunc(spans, func(s fakeotlp.Span) bool { return s.Parent == "" })]
	for _, s := range spans {
		if s.TraceID != root.TraceID || s.Parent != "" && s.Parent != root.SpanID || s.Start < root.Start || s.End > root.End {
			t.Errorf("%s is not within %s", s.Name, root.Name)
		}
		if s.Attr("gen_ai.operation.name") == "chat" && (s.Attr("server.address") != "127.0.0.1" || s.Attr("gen_ai.response.model") == "") {
			t.Errorf("%v does not say which model answered, and where", s.Attributes)
		}
	}
	if root.Attr("enduser.pseudo.id")+root.Attr("enduser.id") == "" {
		t.Error("nobody asked")
	}
	return true
}

// A process that is killed in the middle of a turn and another one that goes on tell
// of one trace, and of no span twice with other data (the collector complains of
// that). What the command exports later is the same.
func TestTraceAcrossKill(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		c := fakeotlp.Start(t, nil)
		n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{store: store, extra: "traces: {otlp: " + c.URL + "}"})
		p := n.spawn()
		defer func() { p.kill() }()
		n.ready()
		at := n.w.mention("ada", "deploy prod now")
		n.ask(at, `{"env":"prod"}`)
		eventually(t, "the first call is told", func() bool { return len(c.Spans()) > 0 })
		p.kill()
		p = n.spawn()
		n.ready()
		eventually(t, "it is approved", func() bool { return n.approve(at) })
		n.find(at, "The tool says")
		eventually(t, "the trace is whole", func() bool { return whole(t, c.Spans()) })
		n.exportsTheSame(c.Spans())
	})
}

// The next process sends the spans that a killed one could not.
func TestTraceAfterKill(t *testing.T) {
	t.Parallel()
	var up atomic.Bool
	c := fakeotlp.Start(t, func(int) int {
		if up.Load() {
			return http.StatusOK
		}
		return http.StatusServiceUnavailable
	})
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{extra: "traces: {otlp: " + c.URL + ", content: true}"})
	p := n.spawn()
	defer func() { p.kill() }()
	n.ready()
	at := n.w.mention("ada", "deploy prod now")
	n.ask(at, `{"env":"prod"}`)
	eventually(t, "it is approved", func() bool { return n.approve(at) })
	n.find(at, "The tool says") // the turn does not wait for the collector
	eventually(t, "it is tried", func() bool { return c.Requests() > 0 })
	p.kill()
	if len(c.Spans()) > 0 {
		t.Fatal("the collector took spans")
	}
	up.Store(true)
	p = n.spawn()
	eventually(t, "the trace is whole", func() bool { return whole(t, c.Spans()) })
	for _, s := range c.Spans() {
		if s.Attr("gen_ai.operation.name") == "execute_tool" && s.Attr("gen_ai.tool.call.arguments") != `{"env":"prod"}` {
			t.Errorf("the arguments of %s are not told", s.Name)
		}
	}
}

// OpenTelemetry's own collector takes a turn with an approval, and passes it on whole.
func TestTraceThroughACollector(t *testing.T) {
	if _, err := exec.LookPath("otel-collector"); err != nil || os.Getenv("NOD_LONG") == "" {
		t.Skip("without NOD_LONG, or there is no otel-collector")
	}
	behind, addr, said := fakeotlp.Start(t, nil), freeAddr(t), &buffer{}
	cmd := exec.Command("otel-collector", "--config", fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {otlp_http: {endpoint: %q, encoding: json, compression: none}}
service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}}`, addr, behind.URL))
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the collector wrote:\n%s", said)
		}
	}()
	eventually(t, "the collector is ready", func() bool { return strings.Contains(said.String(), "Everything is ready") })
	n := newService(t, newSlackWorld(t, fakeslack.Options{NoLimits: true}), obedient, setup{extra: "traces: {otlp: http://" + addr + ", content: true}"})
	n.start()
	at := n.w.mention("ada", "deploy prod now")
	n.ask(at, `{"env":"prod"}`)
	eventually(t, "it is approved", func() bool { return n.approve(at) })
	n.find(at, "The tool says")
	eventually(t, "the trace is whole", func() bool { return whole(t, behind.Spans()) })
	_, metrics := fetchPage(t, "http://"+n.http+"/metrics")
	if strings.Contains(said.String(), "error") || !strings.Contains(metrics, `nod_spans_total{outcome="lost"} 0`) {
		t.Errorf("the collector wrote:\n%s\nnod lost spans", said)
	}
}

// exportsTheSame has `bot export traces` print what was sent, beside the service.
func (n *service) exportsTheSame(sent []fakeotlp.Span) {
	n.t.Helper()
	file := n.rewrite("print.yaml", "traces:", "#traces:")
	var out, errs strings.Builder
	env := Env{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(name string) (string, bool) {
		if v, ok := n.w.env()[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}}
	if code := Main(n.t.Context(), []string{"export", "traces", "--config", file, "--since", "1h"}, env); code != exitFine {
		n.t.Fatalf("status %d: %s", code, &errs)
	}
	var got []fakeotlp.Span
	for line := range strings.Lines(out.String()) {
		var m fakeotlp.Message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			n.t.Fatal(err)
		}
		got = append(got, fakeotlp.Spans(m)...)
	}
	ids := func(spans []fakeotlp.Span) []string {
		var out []string
		for _, s := range spans {
			out = append(out, s.SpanID+s.TraceID+s.Start+s.End+s.Name)
		}
		slices.Sort(out)
		return out
	}
	if !slices.Equal(ids(got), ids(sent)) {
		n.t.Errorf("exported %v, sent %v", ids(got), ids(sent))
	}
	if code := Main(n.t.Context(), []string{"export", "traces", "--config", file, "--since", "soon"}, env); code != exitUsage {
		n.t.Errorf("a length of time that is none: status %d", code)
	}
}

// check tries the collector as it tries every other connection, and leaves no span there.
func TestCheckTriesTheCollector(t *testing.T) {
	t.Parallel()
	refuses := atomic.Bool{}
	c := fakeotlp.Start(t, func(int) int {
		if refuses.Load() {
			return http.StatusUnauthorized
		}
		return http.StatusOK
	})
	n := newService(t, newSlackWorld(t, fakeslack.Options{}), obedient, setup{extra: "traces: {otlp: " + c.URL + "}"})
	if status, out, errs := n.bot("check", "--config", n.file); status != exitFine || !strings.Contains(out, "ok    traces: "+c.URL) {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
	refuses.Store(true)
	status, out, errs := n.bot("check", "--config", n.file)
	if status != exitFailed || !strings.Contains(out, "FAIL  traces: send spans: refused: status 401; look at traces.otlp and traces.headers") {
		t.Errorf("refused: status %d\n%s%s", status, out, errs)
	}
	if c.Requests() != 2 || len(c.Spans()) != 0 {
		t.Errorf("%d requests, %d spans", c.Requests(), len(c.Spans()))
	}
}
