package terminal

import "testing"

func TestParseAttach(t *testing.T) {
	for text, want := range map[string]string{
		"attach a.csv": "a.csv", "Attach  ./x y.csv": "", `ATTACH "./x y.csv"`: "./x y.csv", "attach '/tmp/x'": "/tmp/x", "attach /tmp/x": "/tmp/x",
		"attach": "", "attach ": "", "attach it": "", "attach the file a.csv now": "", "attachment.pdf": "", "please attach a.csv": "",
	} {
		path, ok := parseAttach(text)
		if !ok {
			path = ""
		}
		if path != want {
			t.Errorf("%q: %q, want %q", text, path, want)
		}
	}
}
