package operator

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"nod/chat"
	"nod/memory"
)

// Audit is the audit log as commands check and export it.
type Audit struct {
	// Checkpoint says when the newest checkpoint was signed, zero: there is none, and
	// whether its signature is right.
	Checkpoint func(ctx context.Context) (at time.Time, signed bool, err error)
	// Verify reads and checks the whole log, as `bot audit verify` does.
	Verify func(ctx context.Context) (found string, whole bool, err error)
	// Export writes a log that is whole, as `bot audit export` does.
	Export func(ctx context.Context, w io.Writer) error
}

// mostDecided is how many decisions the page remembers: the newest.
const mostDecided = 5000

// journal keeps the newest decisions. It reads the audit log once, and then only lines
// that are new. It holds the lines as the store does, with pseudonyms, so a person who
// was forgotten has no name here either.
type journal struct {
	mu    sync.Mutex
	mark  string
	open  map[string]*decision // by thread and call, until its result
	rows  []*decision          // the newest comes last
	older int                  // decisions that are not kept
}

// decision is a line of the audit log that decides something, and what belongs to it.
type decision struct {
	kept, askedKept memory.KeptLine
	line, asked     memory.AuditLine // with pseudonyms; asked may be empty
	result          string
}

func (d *decision) tool() string { return cmp.Or(d.line.Tool, d.asked.Tool) }

func (d *decision) outcome() string {
	if d.line.Event == "decided" {
		return d.line.Outcome
	}
	return d.line.Event // granted, used, revoked
}

// read takes in the lines that are new.
func (j *journal) read(ctx context.Context, log memory.Auditor) error {
	mark, older, fresh, err := newLines(ctx, log, j.mark)
	if err == nil && older { // an older copy of the store
		j.mark, j.open, j.rows, j.older = "", nil, nil, 0
		mark, _, fresh, err = newLines(ctx, log, "")
	}
	if err != nil {
		return err
	}
	if j.open == nil {
		j.open = map[string]*decision{}
	}
	j.mark = mark
	for _, d := range fresh {
		j.add(d)
	}
	if n := len(j.rows) - mostDecided; n > 0 {
		j.older += n
		j.rows = slices.Clone(j.rows[n:])
	}
	return nil
}

// newLines gives the lines behind a mark that a decision may be made of, by their time.
func newLines(ctx context.Context, log memory.Auditor, from string) (mark string, older bool, out []*decision, err error) {
	mark, older, err = log.Newer(ctx, from, func(k memory.KeptLine) {
		l, err := memory.DecodeLine(k.Raw)
		if err != nil || !slices.Contains([]string{"asked", "decided", "result", "granted", "used", "revoked", "forgot"}, l.Event) {
			return // a line that can't be read is for verify to name
		}
		out = append(out, &decision{kept: k, line: l})
	})
	slices.SortStableFunc(out, func(a, b *decision) int { return a.line.At.Compare(b.line.At) })
	return mark, older, out, err
}

// add takes in one line.
func (j *journal) add(d *decision) {
	l := d.line
	call := l.Thread.String() + " " + l.Call
	was := j.open[call]
	switch l.Event {
	case "asked":
		j.open[call] = &decision{askedKept: d.kept, asked: l}
		return
	case "result":
		if was != nil {
			was.result = l.Outcome
		}
		delete(j.open, call)
		return
	case "forgot":
		maps.DeleteFunc(j.open, func(_ string, d *decision) bool {
			return l.Thread == cmp.Or(d.line.Thread, d.asked.Thread)
		})
		return
	}
	if was != nil {
		d.asked, d.askedKept = was.asked, was.askedKept
	}
	if l.Call != "" {
		j.open[call] = d
	}
	j.rows = append(j.rows, d)
}

// decided is the view of decisions.
type decided struct {
	Rows []decidedRow
	pages
	Older  int // decisions that the page does not keep
	Signed string
	Sound  bool
	Found  string // by a check that was asked for
	Check  bool   // that can be asked for
}

type decidedRow struct {
	at
	ID                    string
	Tool, Digest, Asker   string
	Who                   []string
	Rule, Outcome, Result string
	Why                   string
	At                    time.Time
}

// decided lists what was decided, the newest first.
func (p *Page) decided(r *http.Request, page int) (any, error) {
	names, err := memory.NamesOf(r.Context(), p.o.Store)
	if err != nil {
		return nil, err
	}
	var out decided
	found, err := p.decisions(r, names, &out, page)
	if err != nil {
		return nil, err
	}
	known := p.names(r.Context())
	for _, d := range found {
		row, err := p.decidedRow(d, names, known)
		if err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, row)
	}
	return out, p.verified(r, &out)
}

// decisions gives a page of the decisions that a filter lets through.
func (p *Page) decisions(r *http.Request, names memory.Names, out *decided, page int) (found []decision, err error) {
	p.journal.mu.Lock()
	defer p.journal.mu.Unlock()
	if err := p.journal.read(r.Context(), p.o.Store); err != nil {
		return nil, err
	}
	out.Older = p.journal.older
	f, skip := filterOf(r), page*pageSize
	for _, d := range slices.Backward(p.journal.rows) {
		switch {
		case len(found) > pageSize || !p.fits(f, d, names):
		case skip > 0:
			skip--
		default:
			found = append(found, *d)
		}
	}
	out.pages = pagesOf(r, page, len(found) > pageSize)
	return found[:min(len(found), pageSize)], nil
}

// fits says whether a filter lets a decision through. People go by the names that the
// page knows already.
func (p *Page) fits(f filter, d *decision, names memory.Names) bool {
	var people []chat.User
	for _, pseudonym := range append(slices.Clone(d.line.By), d.asked.By...) {
		_, id, _ := strings.Cut(names[pseudonym].ID, ":")
		name, _ := p.met.Get(id)
		people = append(people, chat.User{ID: chat.UserID(id), Name: name})
	}
	return f.lets(d.line.Thread.Platform, d.tool(), d.outcome(), people...)
}

func (p *Page) decidedRow(d decision, names memory.Names, known known) (decidedRow, error) {
	l, err := names.Resolve(d.kept)
	if err != nil {
		return decidedRow{}, fmt.Errorf("read a line of the audit log: %w", err)
	}
	row := decidedRow{
		at: p.at(l.Thread, known), ID: fmt.Sprintf("%s-%d", d.line.Thread, l.Seq),
		Tool: p.tool(d.tool()), Outcome: d.outcome(), Result: d.result, Why: p.text(l.Reason), At: l.At,
	}
	digest := cmp.Or(l.Digest, d.asked.Digest)
	row.Digest = digest[:min(12, len(digest))]
	for _, id := range l.By {
		row.Who = append(row.Who, known.person(l.Thread.Platform, id))
	}
	rules := l.Rules
	if d.asked.Event != "" {
		asked, err := names.Resolve(d.askedKept)
		if err != nil {
			return decidedRow{}, fmt.Errorf("read a line of the audit log: %w", err)
		}
		rules = cmp.Or(rules, asked.Rules)
		for _, id := range asked.By {
			row.Asker = known.person(l.Thread.Platform, id)
		}
	}
	row.Rule = ruleText(l.Thread, rules, known)
	return row, nil
}

// ruleText says by which rules a decision was made.
func ruleText(thread chat.ThreadID, r *memory.AuditRules, known known) string {
	if r == nil {
		return ""
	}
	var who []string
	for _, rule := range r.Approvers {
		who = append(who, known.rule(thread.Platform, rule))
	}
	text := strings.Join(who, ", ")
	if r.Quorum > 1 {
		text = fmt.Sprintf("%d of %s", r.Quorum, text)
	}
	if r.ExcludeRequester != false {
		text += ", not who asked"
	}
	if r.Grant != "" {
		text = strings.TrimPrefix(text+", grant "+r.Grant, ", ")
	}
	return text
}

// verified says how far the log is known to be whole; where asked for, by a check of
// all of it.
func (p *Page) verified(r *http.Request, out *decided) error {
	if p.o.Audit.Checkpoint == nil {
		return nil
	}
	at, signed, err := p.o.Audit.Checkpoint(r.Context())
	switch out.Check = true; {
	case err != nil:
		return err
	case at.IsZero():
		out.Signed = "No checkpoint is signed yet."
	case !signed:
		out.Signed = "The newest checkpoint is not signed with the key of this installation."
	default:
		out.Signed, out.Sound = "The newest checkpoint is of "+stamp(at)+", and its signature is right.", true
	}
	if r.URL.Query().Has("check") {
		found, whole, err := p.o.Audit.Verify(r.Context())
		if err != nil {
			return err
		}
		out.Found, out.Sound = p.word(found), out.Sound && whole
	}
	return nil
}

// export sends the audit log as JSON lines. Nothing is sent of a log that is not whole.
func (p *Page) export(w http.ResponseWriter, r *http.Request) {
	out := &late{ResponseWriter: w}
	if err := p.o.Audit.Export(r.Context(), out); err != nil {
		p.log.Error("export the audit log", "error", err)
		if !out.begun {
			http.Error(w, "Nothing is exported. Run bot audit verify: it says what is wrong with the audit log.", http.StatusConflict)
			return
		}
		panic(http.ErrAbortHandler) // half an export must not look like one
	}
}

// late says what is sent once something is.
type late struct {
	http.ResponseWriter
	begun bool
}

// Write implements io.Writer.
func (l *late) Write(b []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
		l.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	}
	return l.ResponseWriter.Write(b)
}
