package audit

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// A direct conversation has a pseudonym in its lines, and in the end of its chain. The
// tombstone of such a conversation continues the chain. With the key the lines are
// found by the conversation's own name.
func TestDirectConversation(t *testing.T) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, 200*time.Millisecond)
			w.happens(t, "D", 1)
			th := chat.ThreadID{Platform: "test", Channel: "cD", Root: "D"}
			erased := func() (lines []memory.AuditLine) {
				for l, err := range w.Audit(t.Context(), th) {
					if err != nil {
						t.Fatal(err)
					}
					lines = append(lines, l)
				}
				return lines
			}
			for len(erased()) < 6 { // the test's own limit ends it
				time.Sleep(10 * time.Millisecond)
			}
			lines := erased()
			if l := lines[5]; l.Event != "forgot" || l.Seq != 6 || l.Prev != lines[4].Hash || l.Thread != th {
				t.Errorf("the tombstone is %+v", l)
			}
			for _, l := range w.lines(t) {
				if bytes.Contains(l.Raw, []byte("cD")) || strings.Contains(l.Thread, "cD") {
					t.Errorf("%s (%s) names the conversation", l.Raw, l.Thread)
				}
			}
			heads, err := w.Heads(t.Context())
			if err != nil || len(heads) != 1 || heads[th.String()].Seq != 0 {
				t.Errorf("ends %v, %v, want one under a pseudonym", heads, err)
			}
			w.keeper(t, "")
			if r, err := VerifyStore(t.Context(), w, public(testKey()), nil); err != nil || len(r.Faults) > 0 || r.Lines != 6 {
				t.Errorf("check: %+v, %v", r, err)
			}
		})
	}
}

// An export names nobody. With names each line says who its people are and what the
// reason was; it is whole with these members, and without them.
func TestExportNames(t *testing.T) {
	t.Parallel()
	w := openSQLite(t)
	w.happens(t, "1", 1)
	export := func(names bool) string {
		var out bytes.Buffer
		if err := Export(t.Context(), &out, w, ExportOptions{Key: testKey(), Now: time.Unix(1e9, 0), Names: names}); err != nil {
			t.Fatal(err)
		}
		if r, err := VerifyExport(bytes.NewReader(out.Bytes()), public(testKey())); err != nil || len(r.Faults) > 0 {
			t.Fatalf("names %v: %v, %v", names, r, err)
		}
		return out.String()
	}
	plain, named := export(false), export(true)
	for _, id := range []string{string(ada.ID), string(ben.ID), "na\u00efve"} {
		if strings.Contains(plain, id) || !strings.Contains(named, id) {
			t.Errorf("%q: want it in the export with names only:\n%s%s", id, plain, named)
		}
	}
	var l struct {
		By     []chat.UserID
		People map[chat.UserID]string
	}
	asked := strings.Split(named, "\n")[1]
	if err := json.Unmarshal([]byte(asked), &l); err != nil || len(l.By) != 1 || l.People[l.By[0]] != "test:U1" {
		t.Errorf("%s, %v: want people to say that its by is test:U1", asked, err)
	}
	bare := regexp.MustCompile(`,"people":\{[^}]*\}|,"text":"([^"\\]|\\.)*"`).ReplaceAllString(named, "")
	if bare != plain {
		t.Errorf("without the names:\n%s\nwant\n%s", bare, plain)
	}
	if r, err := VerifyExport(strings.NewReader(strings.Replace(named, `"people":{`, `"verdict":"deny","people":{`, 1)), nil); err != nil || len(r.Faults) == 0 {
		t.Errorf("a member more beside the people is whole: %v, %v", r, err)
	}
}
