package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"nod/internal/fakeslack"
)

// A turn's usage and cost stand with its steps and in the metrics. A limit in money
// ends turns with a clear word; these did not fail, and the log tells of the limit once.
func TestCosts(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{llm: "prices: {input: 1, output: 2}", extra: `limits: {per_day: "$0.00004"}`})
	n.start()
	at := w.mention("ada", "look it up")
	n.find(at, "The tool says: it is 42")
	n.find(at, "1 step", "20+10 tokens, $0.00004")
	for range 2 {
		n.find(w.dm("bob", "and now?"), "the limit of what I may use in a day is reached ($0.00004)")
	}
	for _, want := range []string{
		"nod_model_cost_total 4e-05\n", `nod_model_tokens_total{kind="prompt"} 20` + "\n", `nod_limit_used_ratio{limit="per_day"} 1` + "\n",
		`nod_turns_total{outcome="limited"} 2` + "\n", `nod_turns_total{outcome="failed"} 0` + "\n",
	} {
		eventually(t, "the metrics hold "+want, func() bool {
			resp, err := http.Get("http://" + n.http + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			body, err := io.ReadAll(resp.Body)
			return err == nil && strings.Contains(string(body), want)
		})
	}
	spent := func() string {
		status, out, errs := n.bot("spent", "--config", n.file, "--format", "csv", "--since", "1d")
		if status != exitFine {
			t.Errorf("bot spent ends with %d: %s", status, errs)
		}
		return out
	}
	running := spent()
	if want := ",ada,20,0,10,0.000040,,\n"; !strings.HasSuffix(running, want) {
		t.Errorf("bot spent prints %q, want %q", running, want)
	}
	n.stop()
	if alone := spent(); alone != running {
		t.Errorf("without the service it prints %q", alone)
	}
	if logs := n.logs.String(); strings.Count(logs, `"a limit is used up for today","limit":"all"`) != 1 {
		t.Errorf("the operator is not told, once:\n%s", logs)
	}
}
