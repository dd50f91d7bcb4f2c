package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/llm"
)

func boxOf(t *testing.T, tools ...Tool) *Box {
	t.Helper()
	box, err := NewBox(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// doing is a tool that does f.
func doing(name string, f func(ctx context.Context, in Input) (llm.Result, error)) Tool {
	return Tool{
		Tool: llm.Tool{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)},
		Risk: Auto, Run: f,
	}
}

func saying(name, text string) Tool {
	return doing(name, func(context.Context, Input) (llm.Result, error) { return llm.Result{Text: text}, nil })
}

func TestBoxCall(t *testing.T) {
	broken := errors.New("disk full")
	var input Input
	box := boxOf(t,
		doing("echo", func(_ context.Context, in Input) (llm.Result, error) {
			input = in
			return llm.Result{Text: string(in.Args)}, nil
		}),
		doing("index", func(context.Context, Input) (llm.Result, error) {
			var none []int
			return llm.Result{Text: fmt.Sprint(none[3])}, nil
		}),
		doing("secret", func(_ context.Context, in Input) (llm.Result, error) { panic(string(in.Args)) }),
		doing("broken", func(context.Context, Input) (llm.Result, error) { return llm.Result{}, broken }),
		doing("told", func(context.Context, Input) (llm.Result, error) { return Failed("no disk"), broken }),
		saying("quiet", " \n"),
	)
	thread := chat.ThreadID{Platform: "terminal", Channel: "c"}
	tests := []struct {
		name, tool, args string
		want             llm.Result
		err              string
	}{
		{"runs", "echo", "{\"a\": \"x\"}\nThere.", llm.Result{Text: `{"a":"x"}`}, ""},
		{"no arguments", "echo", "", llm.Result{Text: `{}`}, ""},
		{"unknown", "ehco", "{}", Failed(`there is no tool "ehco"; there are: broken, echo, index, quiet, secret, told`), ""},
		{"cut", "echo", `{"a":"x`, Failed("echo was not run: the arguments end in the middle; write the whole JSON object again"), ""},
		{"wrong", "echo", `{"a":1,"b":2}`, Failed("echo was not run, its arguments are wrong:\n/a: must be string, not number\n/b: is not a parameter; there are a"), ""},
		{"panics", "index", "{}", Failed("index broke down; this is a fault of the tool, not of the arguments"), "index out of range [3]"},
		{"panics with arguments", "secret", `{"a":"hunter2"}`, Failed("secret broke down; this is a fault of the tool, not of the arguments"), "panic with a string"},
		{"error", "broken", "{}", Failed("broken broke down; this is a fault of the tool, not of the arguments"), "run tool broken: disk full"},
		{"error that is told", "told", "{}", Failed("no disk"), "disk full"},
		{"says nothing", "quiet", "{}", llm.Result{Text: "(no output)"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := box.Call(t.Context(), chat.Desk{Thread: thread, Key: "k1"}, llm.Call{Name: tt.tool, Args: tt.args})
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error holds an argument: %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if input.Thread != thread || input.Key != "k1" {
		t.Errorf("input %+v", input)
	}
}

// upper is a mask that can be seen.
type upper struct{}

func (upper) Text(s string) string  { return strings.ReplaceAll(s, "hunter2", "HUNTER") }
func (upper) Bytes(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("HUNTER")) }

// Results of tools go through the mask: failures, files, the edges of cuts, and texts
// with colours, which are taken out.
func TestBoxMask(t *testing.T) {
	long := strings.Repeat("a line\n", 2000) + "hunter2\n" + strings.Repeat("a line\n", 2000)
	box := boxOf(t,
		saying("says", "it is hunter2"), saying("long", long), saying("coloured", "it is hun\x1b[01;31mter\x1b[m2"),
		doing("fails", func(context.Context, Input) (llm.Result, error) { return Failed("no hunter2"), errors.New("disk full") }),
		doing("file", func(context.Context, Input) (llm.Result, error) {
			return llm.Result{Text: "x", Files: []llm.File{{Name: "hunter2.txt", Data: []byte("a hunter2")}}}, nil
		}),
	)
	box.Mask = upper{}
	for _, name := range []string{"says", "long", "coloured", "fails", "file"} {
		got, _ := box.Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: name})
		all := got.Text
		for _, f := range got.Files {
			all += f.Name + string(f.Data)
		}
		if strings.Contains(all, "hunter2") || !strings.Contains(all, "HUNTER") {
			t.Errorf("%s: %.200s", name, all)
		}
	}
}

func TestNewBoxRefuses(t *testing.T) {
	none := saying("none", "")
	none.Run = nil
	risky := saying("risky", "")
	risky.Risk = "sometimes"
	schemaless := saying("schemaless", "")
	schemaless.Parameters = json.RawMessage(`{"type":"array"}`)
	_, err := NewBox(saying("a", ""), saying("a", ""), saying("b c", ""), saying("", ""), none, risky, schemaless)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"a": there is another`, `"b c": a name has`, `"": a name has`, `"none": it does nothing`, `not "sometimes"`, `"schemaless": read JSON Schema`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}

func TestBoxList(t *testing.T) {
	box := boxOf(t, saying("c", ""), saying("a", ""), saying("b", ""))
	var names []string
	for _, tool := range box.List() {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLongOutput(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d é\n", i)
	}
	tests := []struct{ name, text, note string }{
		{"lines", text.String(), "the artifact named below has all of it"},
		{"one line", strings.Repeat("é", 20_000), "the artifact named below has all of it"},
		{"one letter more", strings.Repeat("é", Cap/2) + "x", "the artifact named below has all of it"},
		{"more than a file", strings.Repeat("0123456789", FileCap/10+1), "the artifact named below has more, but not all"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := boxOf(t, saying("x", tt.text)).Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "x"})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Text) > Cap || len(got.Text) < Cap-2*reach-200 || !utf8.ValidString(got.Text) {
				t.Errorf("%d bytes of text, valid %v", len(got.Text), utf8.ValidString(got.Text))
			}
			head, rest, _ := strings.Cut(got.Text, "\n[… ")
			stub, tail, _ := strings.Cut(rest, "…]\n")
			var out int
			if _, err := fmt.Sscanf(stub, "%d bytes are left out here; ", &out); err != nil || !strings.Contains(stub, tt.note) {
				t.Errorf("stub %q: %v", stub, err)
			}
			if !strings.HasPrefix(tt.text, head) || !strings.HasSuffix(tt.text, tail) || len(head)+out+len(tail) != len(tt.text) {
				t.Errorf("%d + %d + %d bytes are not the output's %d", len(head), out, len(tail), len(tt.text))
			}
			if len(got.Files) != 1 || got.Files[0].Name != "x-output.txt" || len(got.Files[0].Data) > FileCap {
				t.Fatalf("%d files", len(got.Files))
			}
			if whole := string(got.Files[0].Data) == tt.text; whole != (len(tt.text) <= FileCap) {
				t.Errorf("the file is whole: %v", whole)
			}
		})
	}
	short := strings.Repeat("é", Cap/2)
	got, err := boxOf(t, saying("x", short)).Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "x"})
	if err != nil || got.Text != short || len(got.Files) != 0 {
		t.Errorf("a text of the cap's length was changed: %d bytes, %v", len(got.Text), err)
	}
}

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\nc é 🙂", "a\tb\nc é 🙂"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red"},
		{"cursor", "a\x1b[2Kb\x1b[1A", "a␛[2Kb␛[1A"},
		{"title", "\x1b]0;x\x07", "␛]0;x␇"},
		{"unclosed sequence", "a\x1bPb", "a␛Pb"},
		{"8-bit sequence", "\u009b31m", "\ufffd31m"},
		{"8-bit sequence, raw", "\x9b31m", "\ufffd31m"},
		{"progress", "1%\r2%\r\n", "1%\n2%\n"},
		{"zero and delete", "a\x00b\x7f", "a␀b␡"},
		{"not UTF-8", "a\xff\xfeb", "a\ufffdb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Clean(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzBounded(f *testing.F) {
	f.Add("x\x1b[31m\xff", 4000)
	f.Add("é\n", 9000)
	f.Fuzz(func(t *testing.T, text string, times int) {
		r := bounded("x", llm.Result{Text: strings.Repeat(text, min(max(times, 0), 100_000/(len(text)+1)))})
		if len(r.Text) > Cap || !utf8.ValidString(r.Text) || strings.ContainsFunc(r.Text, IsControl) {
			t.Errorf("%d bytes, %q", len(r.Text), r.Text)
		}
	})
}

// TestHostileOutput goes through a box, as the output of any tool does.
func TestHostileOutput(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a link of a terminal", "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\", "␛]8;;http://evil.example␛\\here␛]8;;␛\\"},
		{"a screen that is cleared", "\x1b[2J\x1b[Hyou are root", "␛[2J␛[Hyou are root"},
		{"the clipboard", "\x1b]52;c;cm0gLXJm\x07", "␛]52;c;cm0gLXJm␇"},
		{"a line that is written over", "rm -rf /\rls        ", "rm -rf /\nls        "},
		{"backspaces", "rm\b\bls", "rm␈␈ls"},
		{"colours in colours", "\x1b[\x1b[31m31mred", "␛[31mred"},
		{"letters that nobody sees", "ok\U000e0069\U000e0067\U000e006e", "ok\ufffd\ufffd\ufffd"},
		{"mentions, which the platforms' adapters disarm", "@everyone <!channel> <@U1>", "@everyone <!channel> <@U1>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := boxOf(t, saying("x", tt.text)).Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "x"})
			if err != nil || got.Text != tt.want {
				t.Errorf("%v: %q, want %q", err, got.Text, tt.want)
			}
		})
	}
	for _, huge := range []string{strings.Repeat("\x00", 1<<20), strings.Repeat("\x1b[31m", 1<<18), strings.Repeat("\xff", 1<<20), strings.Repeat("\n", 1<<20)} {
		got, err := boxOf(t, saying("x", huge)).Call(t.Context(), chat.Desk{Key: "k"}, llm.Call{Name: "x"})
		if err != nil || len(got.Text) > Cap || !utf8.ValidString(got.Text) || len(got.Files) > 1 || len(got.Files) == 1 && len(got.Files[0].Data) > FileCap {
			t.Errorf("%v: %d bytes, %d files", err, len(got.Text), len(got.Files))
		}
	}
}
