package main

import (
	"bytes"
	"context"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
	"nod/internal/redistest"
)

const stockPrices = "day,close\n1,10\n2,12\n3,11\n4,15\n5,14\n6,19\n"

// analyst is a model that shows the head of a table, and then draws it.
func analyst(req fakellm.Request) fakellm.Reply {
	text := req.Last().Text()
	switch {
	case req.Last().Role != "tool":
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "python", Args: `{"code":"import pandas as pd\ndf = pd.read_csv(\"stock_prices.csv\")\ndf.head()"}`}}}
	case strings.Contains(text, "day") && !strings.Contains(text, "plot-1.png"):
		return fakellm.Reply{Calls: []fakellm.Call{{Name: "python", Args: `{"code":"import matplotlib.pyplot as plt\nplt.plot(df[\"day\"], df[\"close\"])\nplt.show()"}`}}}
	}
	return fakellm.Reply{Text: "The tool says: " + text}
}

// From an attached table to a plot in the thread: the interpreter finds the file by
// its name, keeps the table from call to call, and its plot is a real picture for
// people.
func TestPlotOfAnAttachedTable(t *testing.T) {
	t.Parallel()
	for name, newWorld := range map[string]func(t *testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newService(t, newWorld(t), analyst, setup{store: redistest.Start(t).URL(), tools: deployTool + "  python: {timeout: 60s, memory: 2GiB}\n"})
			n.start()
			at := n.w.attach("ada", "show the head of stock_prices.csv, then draw the closing price", "stock_prices.csv", stockPrices)
			n.find(at, "The tool says:", "plot-1.png")
			files := n.files(at)
			if len(files) != 1 {
				t.Fatalf("%d files were posted, want the plot", len(files))
			}
			picture, err := png.Decode(strings.NewReader(files[0]))
			if err != nil || picture.Bounds().Dx() < 200 {
				t.Errorf("the plot is no picture: %v", err)
			}
			if whole := n.llm.Requests()[1].Whole(); !holds(whole, []string{"close", "12"}) {
				t.Errorf("the model did not see the head of the table:\n%s", whole)
			}
		})
	}
}

var plotLine = regexp.MustCompile(`File: (\S+\.png) `)

// The same in a terminal, where a file is attached by its path and a plot is a
// file whose path is said.
func TestPlotInATerminal(t *testing.T) {
	t.Parallel()
	model := fakellm.Start(t, analyst)
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("stock_prices.csv", stockPrices)
	write("nod.yaml", "llm: {base_url: \""+model.URL+"\", api_key: k}\ntools: {python: {timeout: 60s, memory: 2GiB}}\n")
	var out, errs buffer
	env := Env{
		In:  strings.NewReader("attach " + filepath.Join(dir, "stock_prices.csv") + "\nshow the head of stock_prices.csv, then draw the closing price\n"),
		Out: &out, Err: &errs, Getenv: os.LookupEnv,
	}
	if status := Main(context.Background(), []string{"chat", "--config", filepath.Join(dir, "nod.yaml")}, env); status != exitFine {
		t.Fatalf("bot chat ended with %d\n%s\n%s", status, out.String(), errs.String())
	}
	m := plotLine.FindStringSubmatch(out.String())
	if m == nil {
		t.Fatalf("no plot was named:\n%s\n%s", out.String(), errs.String())
	}
	data, err := os.ReadFile(m[1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(data)); err != nil {
		t.Errorf("the plot is no picture: %v", err)
	}
}
