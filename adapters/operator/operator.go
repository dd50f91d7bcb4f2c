// Package operator is a page for whoever runs nod: which approvals wait, what was
// decided, which threads have a turn, any thread as it was at any of its entries, what was spent, and
// how the parts are. It changes nothing, and is served on a loopback address to who
// has the link that is printed (package door).
//
// The one idea is that the page computes nothing of its own. It reads logs, and shows
// what package agent makes of them, which is also what the model was shown, what
// people see and what is done next. So it can't tell another story than they, and as a
// log is shared by all processes, so is what is shown of it.
//
// Texts of conversations are shown only where [Options.Texts] says so, and secrets
// never.
package operator

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"nod/adapters/web/door"
	"nod/agent"
	"nod/agent/run"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/summary"
	"nod/memory"
	"nod/spending"
)

// Store is what the page reads. It is called concurrently.
type Store interface {
	memory.Reader
	memory.Auditor
	memory.Counters
	door.Notes
	Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error]
}

// Options set up a [Page].
type Options struct {
	Address   string // where it is served: a loopback address
	Store     Store
	Threads   memory.Lister
	Platforms []string
	Guides    map[string]Guide // by platform; without one its ids are shown
	Audit     Audit
	Agent     func() *agent.Agent // as it decides now; its tools may change
	Limits    run.Limits
	Health    func(ctx context.Context) map[string]any // as /readyz says it
	Facts     [][2]string                              // about the program, shown with its health
	Texts     bool                                     // texts of conversations are shown
	Mask      func(string) string                      // takes secrets out of texts
	Print     func(line string)                        // see door.New
	Logger    *slog.Logger
	Now       func() time.Time
}

// Page is the operator's page.
type Page struct {
	o       Options
	log     *slog.Logger
	door    *door.Door
	listens net.Listener
	ledger  spending.Ledger
	journal journal
	met     bounded.Map[string, string] // how people are called, by id
}

// New listens on the address; [Page.Run] serves the page.
func New(o Options) (*Page, error) {
	if o.Store == nil || o.Threads == nil || o.Agent == nil {
		return nil, errors.New("make the operator's page: a store and an agent are needed")
	}
	l, err := door.Listen(o.Address)
	if err != nil {
		return nil, err
	}
	p := &Page{o: o, log: o.Logger, listens: l}
	p.door = p.newDoor(p.Address())
	return p, nil
}

// Access is the access to this page as a store keeps it.
func Access(notes door.Notes, now func() time.Time) *door.Access {
	return &door.Access{Notes: notes, Page: "operator", Life: door.LinkLife, Now: now}
}

func (p *Page) newDoor(address string) *door.Door {
	return door.New(door.Options{
		Address: address, Print: p.o.Print, Access: Access(p.o.Store, p.o.Now), Logger: p.log,
		Renew: "bot page link --config FILE prints one, where nod runs. It works once, and lives 10 minutes.",
	})
}

// Link makes the line of a new link to the page at an address.
func Link(ctx context.Context, notes door.Notes, address string) (line string, err error) {
	key, err := Access(notes, time.Now).Link(ctx)
	return door.LinkLine(address, key), err
}

// Address is where the page is served.
func (p *Page) Address() string { return p.listens.Addr().String() }

// Run prints the link, and serves the page until ctx is done.
func (p *Page) Run(ctx context.Context) error {
	p.door.Announce(ctx)
	return door.Serve(ctx, p.listens, p.Handler())
}

//go:embed page
var files embed.FS

// Handler serves the page.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/waiting", http.StatusSeeOther) })
	mux.HandleFunc("GET /waiting", p.view("waiting", p.waiting))
	mux.HandleFunc("GET /decided", p.view("decided", p.decided))
	if p.o.Audit.Export != nil {
		mux.HandleFunc("GET /decided/export", p.export)
	}
	mux.HandleFunc("GET /live", p.view("live", p.live))
	mux.HandleFunc("GET /thread", p.view("thread", p.thread))
	spent := p.view("spent", p.spent)
	mux.HandleFunc("GET /spent", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") != "csv" {
			spent(w, r)
		} else if err := p.csv(w, r); err != nil {
			status, said := p.fault("spent", err)
			http.Error(w, said, status)
		}
	})
	mux.HandleFunc("GET /health", p.view("health", p.health))
	mux.HandleFunc("GET /operator.css", door.Asset(files, "page/operator.css"))
	mux.HandleFunc("GET /operator.js", door.Asset(files, "page/operator.js"))
	return p.door.Guard(mux)
}

// templates draw the views.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"at":    stamp,
	"money": chat.Money,
	"count": summary.Thousands,
	"list":  func(all []string) string { return strings.Join(all, ", ") },
}).ParseFS(files, "page/*.html"))

// stamp is a time with its zone.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// screen is what the frame of every view draws.
type screen struct {
	View      string
	Views     []string
	Texts     bool
	Now       time.Time
	Asked     string // the thread that was asked for
	Filter    filter
	States    []string // that it can ask for; none: the view has no filter
	Platforms []string
	Wrong     string // what was wrong with the request
	Body      any
}

// views are the places of the page, in the order of its menu.
var views = []string{"waiting", "decided", "live", "thread", "spent", "health"}

// mistake is an error of whoever asked.
type mistake struct{ error }

// view draws what a view finds; a part of it alone where the page's script asks so.
// A wrong request gets its words inside the frame.
func (p *Page) view(name string, find func(r *http.Request, page int) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := screen{View: name, Views: views, Texts: p.o.Texts, Now: p.o.Now(), Asked: p.word(r.URL.Query().Get("id")), Filter: filterOf(r), States: states[name], Platforms: p.o.Platforms}
		status := http.StatusOK
		page, err := number(r, "page")
		if err == nil {
			s.Body, err = find(r, int(min(page, 1<<32)))
		}
		if err != nil {
			status, s.Wrong = p.fault(name, err)
			s.Body = nil
		}
		what := "frame"
		if r.URL.Query().Has("part") && s.Wrong == "" {
			what = name
		}
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, what, s); err != nil {
			p.log.Error("draw a view of the operator's page", "view", name, "error", err)
			http.Error(w, "This view can't be drawn.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes()) // the browser is gone
	}
}

// fault says to the person what is wrong; what is no fault of theirs is logged.
func (p *Page) fault(view string, err error) (status int, said string) {
	var m mistake
	if errors.As(err, &m) {
		return http.StatusBadRequest, p.word(m.Error())
	}
	p.log.Error("draw a view of the operator's page", "view", view, "error", err)
	return http.StatusServiceUnavailable, "The store does not answer. Please try again."
}

// text makes a text of a conversation fit to be shown, or says only how long it is.
func (p *Page) text(s string) string {
	switch {
	case s == "":
		return ""
	case !p.o.Texts:
		return fmt.Sprintf("(%d characters)", len([]rune(s)))
	}
	return door.Clean(p.o.Mask(s))
}

// word makes a name, or a text of nod's own, fit to be shown.
func (p *Page) word(s string) string { return door.Clean(p.o.Mask(s)) }

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// tool is the name of a tool. A model calls by any name, and a text is none.
func (p *Page) tool(name string) string {
	if toolName.MatchString(name) {
		return p.word(name)
	}
	return p.text(name)
}

// person is how somebody is called.
func (p *Page) person(u chat.User) string {
	p.meet(u)
	return p.word(u.Display())
}

func (p *Page) people(all []chat.User) []string {
	var out []string
	for _, u := range all {
		out = append(out, p.person(u))
	}
	return out
}
