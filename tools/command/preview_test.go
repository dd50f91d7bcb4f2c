package command

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/tools"
)

// previewed runs the preview of a command.
func previewed(t *testing.T, c Keys, args string) chat.Preview {
	t.Helper()
	tool := New(c)
	p, _ := tooltest.Box(t, tool).Preview(t.Context(), chat.Desk{Key: "key-1"}, llm.Call{Name: tool.Name, Args: args})
	return p
}

// A preview is a program like the command's own: no shell, its arguments whole, in
// the same bounds; what is wrong with it is said in a few words.
func TestPreview(t *testing.T) {
	flood := `head -c 70000 /dev/zero | tr '\\0' x`
	for name, c := range map[string]struct {
		preview []string
		args    string
		want    chat.Preview
	}{
		"arguments": {[]string{"printf", "[%s]", "{a}", "{n}"}, `{"a":"x; y","n":3}`, chat.Preview{Text: "[x; y][3]"}},
		"both":      {[]string{"sh", "-c", "echo out; echo err >&2"}, `{}`, chat.Preview{Text: "stdout:\nout\nstderr:\nerr"}},
		"silence":   {[]string{"true"}, `{}`, chat.Preview{}},
		"no key":    {[]string{"sh", "-c", "echo $NOD_CALL_KEY$SECRET"}, `{}`, chat.Preview{}},
		"fails":     {[]string{"sh", "-c", "echo half; exit 3"}, `{}`, chat.Preview{Text: "half", Err: "exit status 3"}},
		"option":    {[]string{"ls", "{a}"}, `{"a":"-la"}`, chat.Preview{Err: `the value of "a" begins with -, and could be taken for an option; write one that does not`}},
		"misfit":    {[]string{"ls"}, `{"n":"x"}`, chat.Preview{Err: "/n: must be integer, not string"}},
		"flood":     {[]string{"sh", "-c", flood}, `{}`, chat.Preview{Err: "it wrote more than 64 KB"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := shell("echo done")
			o.Preview, o.PreviewRequired = c.preview, true
			got := previewed(t, o, c.args)
			if name == "flood" {
				if len(got.Text) == 0 || len(got.Text) > tools.PreviewCap {
					t.Errorf("it shows %d bytes of a flood", len(got.Text))
				}
				got.Text = ""
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A preview that takes too long ends with all that it has said.
func TestPreviewHangs(t *testing.T) {
	t.Parallel()
	said := fifo(t)
	o := shell("echo done")
	o.Preview = []string{"sh", "-c", "echo half; : >" + said + "; exec sleep 1000"}
	o.Timeout = 10 * time.Minute
	c := newCommand(o)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = os.ReadFile(said) // waits for the program
		cancel(errTimeout)
	}()
	got, err := c.preview(ctx, tools.Input{Args: json.RawMessage(`{}`)})
	if want := (chat.Preview{Text: "half", Err: "took longer than 10m0s and was ended"}); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// A call is bound to its preview program too: another program there makes another tool.
func TestPreviewIsOfTheDefinition(t *testing.T) {
	o := shell("echo done")
	plain := New(o)
	o.Preview = []string{"echo", "{a}"}
	with := New(o)
	if plain.Preview != nil || with.Preview == nil || plain.Definition == with.Definition {
		t.Errorf("previews %v and %v, definitions %s and %s", plain.Preview != nil, with.Preview != nil, plain.Definition, with.Definition)
	}
}
