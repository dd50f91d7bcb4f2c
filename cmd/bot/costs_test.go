package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"nod/internal/fakeslack"
)

// A turn's usage and cost stand with its steps and in the metrics, and a limit in money
// ends turns with a clear word.
func TestCosts(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{llm: "prices: {input: 1, output: 2}", extra: `limits: {per_day: "$0.00004"}`})
	n.start()
	at := w.mention("ada", "look it up")
	n.find(at, "The tool says: it is 42")
	n.find(at, "1 step", "20+10 tokens, $0.00004")
	resp, err := http.Get("http://" + n.http + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"nod_model_cost_total 4e-05", `nod_model_tokens_total{kind="prompt"} 20`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the metrics hold no %s", want)
		}
	}
	n.find(w.dm("bob", "and now?"), "the limit of what I may use in a day is reached ($0.00004)")
}
