package fakeslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reply is a JSON object.
type reply map[string]any

// Args are the arguments of a call without its token. What a JSON body gives
// as something else than a string is its JSON text.
type Args map[string]string

// Call is one request to the Web API. Error is Slack's error code; Status is the HTTP
// status, 0 without an answer.
type Call struct {
	At     time.Time
	Method string
	Args   Args
	Status int
	Error  string
	// Faulted says that a planned fault spoilt the call. Done says that what it
	// asks for was done nevertheless.
	Faulted bool
	Done    bool
}

// call is a request on its way.
type call struct {
	method string
	token  string
	args   Args
	json   map[string]json.RawMessage // of a JSON body
}

// answer is the response to a request.
type answer struct {
	status int
	header map[string]string
	body   any
	code   string // Slack's word for what was wrong
	done   bool
}

// apiError is a refusal in Slack's words.
type apiError struct {
	code   string
	detail string // for the violation and for response_metadata
	extra  reply
	breach bool // no correct program gets this
}

func (e *apiError) Error() string { return e.code }

// refuse is a refusal that a correct program may get.
func refuse(code string) error { return &apiError{code: code} }

// breach is a refusal that no correct program gets.
func breach(code, format string, args ...any) error {
	return &apiError{code: code, detail: fmt.Sprintf(format, args...), breach: true}
}

// maxBody is the largest request that is read.
const maxBody = 8 << 20

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()
	c, err := readCall(w, r)
	if err != nil {
		s.breach("%s: read request: %v", c.method, err)
		write(w, answer{status: http.StatusOK, body: reply{"ok": false, "error": "invalid_form_data"}})
		return
	}
	f := s.faultFor(c)
	if s.opt.Slow && !s.latency().hold(s, r) || f != nil && !f.hold(s, r) {
		s.note(c, answer{}, true)
		panic(http.ErrAbortHandler)
	}
	if f.spoils() && !f.After {
		s.note(c, f.answer(), true)
		f.serve(s, w, r)
		return
	}
	a := s.answer(c)
	if f.spoils() {
		spoilt := f.answer()
		spoilt.done = a.done
		s.note(c, spoilt, true)
		f.serve(s, w, r)
		return
	}
	s.note(c, a, false)
	write(w, a)
}

// begin lets a request in, which Close then waits for.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// note writes a call down.
func (s *Server) note(c *call, a answer, faulted bool) {
	defer s.change()()
	s.record.byMethod[c.method] = append(s.record.byMethod[c.method], len(s.record.calls))
	s.record.calls = append(s.record.calls, Call{
		At: s.now(), Method: c.method, Args: c.args, Status: a.status, Error: a.code, Faulted: faulted, Done: a.done,
	})
}

func write(w http.ResponseWriter, a answer) {
	body, err := json.Marshal(a.body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body)
}

// readCall reads the arguments from the query and from a form or JSON body.
func readCall(w http.ResponseWriter, r *http.Request) (*call, error) {
	c := &call{method: r.PathValue("method"), args: Args{}}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err := c.readBody(r, kind); err != nil {
		return c, err
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		c.token = token
	}
	if token, ok := c.args["token"]; ok {
		c.token = token
		delete(c.args, "token")
	}
	return c, nil
}

func (c *call) readBody(r *http.Request, kind string) error {
	if kind == "application/json" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if len(body) == 0 {
			return nil
		}
		if err := json.Unmarshal(body, &c.json); err != nil {
			return err
		}
		for k, raw := range c.json {
			c.args[k] = plain(raw)
		}
		return nil
	}
	var err error
	if kind == "multipart/form-data" {
		err = r.ParseMultipartForm(maxBody)
	} else {
		err = r.ParseForm()
	}
	for k, v := range r.Form {
		c.args[k] = v[0]
	}
	return err
}

// plain gives the string that JSON text holds, or the text itself.
func plain(raw json.RawMessage) string {
	var str string
	if json.Unmarshal(raw, &str) == nil {
		return str
	}
	return string(raw)
}

// answer does what a call asks for.
func (s *Server) answer(c *call) answer {
	defer s.change()()
	m, known := methods[c.method]
	if !known {
		return s.refusal(breach("unknown_method", "no such method"), c)
	}
	if err := s.authorise(c, m); err != nil {
		return s.refusal(err, c)
	}
	if wait, ok := s.gate.admit(s, c, m.limit); !ok {
		s.record.rateLimited++
		return limited(wait)
	}
	for _, wrong := range s.contracts[c.method].check(c) {
		s.violate(c.method, wrong)
	}
	out, err := m.do(s, c)
	if err != nil {
		return s.refusal(err, c)
	}
	if out == nil {
		out = reply{}
	}
	out["ok"] = true
	return answer{status: http.StatusOK, header: s.scopeHeader(m), body: out, done: true}
}

func limited(wait time.Duration) answer {
	seconds := max(1, int((wait+time.Second-1)/time.Second))
	return answer{
		status: http.StatusTooManyRequests, code: "ratelimited",
		header: map[string]string{"Retry-After": strconv.Itoa(seconds)},
		body:   reply{"ok": false, "error": "ratelimited"},
	}
}

func (s *Server) refusal(err error, c *call) answer {
	var e *apiError
	if !errors.As(err, &e) {
		e = &apiError{code: "internal_error", detail: err.Error(), breach: true}
	}
	body := reply{"ok": false, "error": e.code}
	if e.detail != "" {
		body["response_metadata"] = reply{"messages": []string{"[ERROR] " + e.detail}}
	}
	maps.Copy(body, e.extra)
	if e.breach {
		s.violate(c.method, e.code+": "+e.detail)
	}
	return answer{status: http.StatusOK, header: s.scopeHeader(methods[c.method]), body: body, code: e.code}
}

func (s *Server) scopeHeader(m method) map[string]string {
	if s.opt.NoScopes {
		return nil
	}
	return map[string]string{
		"X-OAuth-Scopes":          strings.Join(s.opt.Scopes, ","),
		"X-Accepted-OAuth-Scopes": strings.Join(m.scopes, ","),
	}
}

func (s *Server) authorise(c *call, m method) error {
	switch c.token {
	case "":
		return breach("not_authed", "no token")
	case s.opt.BotToken, s.opt.AppToken:
	default:
		return refuse("invalid_auth")
	}
	if m.app != (c.token == s.opt.AppToken) {
		return breach("not_allowed_token_type", "the other token is wanted")
	}
	return s.need(m.scopes...)
}

// need refuses unless the bot has one of the scopes.
func (s *Server) need(scopes ...string) error {
	if len(scopes) == 0 {
		return nil
	}
	for _, have := range s.opt.Scopes {
		if slices.Contains(scopes, have) {
			return nil
		}
	}
	return &apiError{code: "missing_scope", extra: reply{
		"needed": strings.Join(scopes, ","), "provided": strings.Join(s.opt.Scopes, ","),
	}}
}

// violate notes what no correct program does.
func (s *Server) violate(where, what string) {
	s.record.violations = append(s.record.violations, where+": "+what)
}

func (s *Server) breach(format string, args ...any) {
	defer s.change()()
	s.record.violations = append(s.record.violations, fmt.Sprintf(format, args...))
}

// truth reads a boolean argument.
func (a Args) truth(name string) bool {
	v := strings.ToLower(a[name])
	return v == "true" || v == "1"
}

// number reads a whole number between 1 and most; def where there is none.
func (a Args) number(name string, def, most int) (int, error) {
	v := a[name]
	if v == "" {
		return def, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, breach("invalid_arguments", "%s is not a number: %q", name, v)
	}
	if n == 0 {
		return def, nil
	}
	return min(n, most), nil
}

// list reads a JSON array of strings or words parted by commas.
func (a Args) list(name string) []string {
	v := strings.TrimSpace(a[name])
	if v == "" {
		return nil
	}
	var out []string
	if json.Unmarshal([]byte(v), &out) == nil {
		return out
	}
	for _, w := range strings.Split(v, ",") {
		out = append(out, strings.TrimSpace(w))
	}
	return out
}
