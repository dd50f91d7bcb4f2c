package fakediscord

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The most that a request may hold, and a file of it. Boosted servers take
// larger files: https://discord.com/developers/docs/reference#uploading-files
const (
	largestRequest = 25 << 20
	largestFile    = 10 << 20
	boostedFile    = 50 << 20
)

var entityTooLarge = refusal(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")

const (
	callbackRoute = "POST /interactions/{interaction}/{token}/callback"
	emptyMessage  = 50006
	invalidForm   = 50035
)

// traffic is what came in. The server's lock guards it.
type traffic struct {
	calls      []Call
	called     map[string]int // by route
	violations []string
	buckets    map[string]*bucket
	limited    int
	faults     []*Injected
}

func newTraffic() traffic { return traffic{called: map[string]int{}, buckets: map[string]*bucket{}} }

// Call is a request that the bot made.
type Call struct {
	At     time.Time
	Route  string // "POST /channels/{channel}/messages"
	Path   string // "/channels/123/messages"
	Query  url.Values
	Body   json.RawMessage // what was JSON of it
	Status int             // of the answer, also when it did not arrive; 0: connection cut or held
}

// Calls gives the requests to a route, all of them for "", oldest first.
func (s *Server) Calls(route string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool { return route != "" && c.Route != route })
}

// Called is how many requests to a route were answered.
func (s *Server) Called(route string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.called[route]
}

// Violations tells which requests broke the published contract, a limit, or
// what Discord takes as a form: route, field, reason. It holds no text of a
// message.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

func (s *Server) violate(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// apiError is an answer that says no:
// https://discord.com/developers/docs/topics/opcodes-and-status-codes
type apiError struct {
	status, code int
	message      string
	extra        object
	headers      map[string]string
	why          string // for Violations
}

func (e *apiError) body() object {
	o := object{"message": e.message, "code": e.code}
	for k, v := range e.extra {
		o[k] = v
	}
	return o
}

func (e *apiError) setHeaders(h http.Header) {
	for k, v := range e.headers {
		h.Set(k, v)
	}
}

func refusal(status, code int, message string) *apiError {
	return &apiError{status: status, code: code, message: message}
}

// badForm is error 50035 about one field, a path such as components.0.custom_id.
func badForm(field, code, message string) *apiError {
	var errs any = object{"_errors": []object{{"code": code, "message": message}}}
	parts := strings.Split(field, ".")
	for _, p := range slices.Backward(parts) {
		errs = object{p: errs}
	}
	e := refusal(http.StatusBadRequest, invalidForm, "Invalid Form Body")
	e.extra = object{"errors": errs}
	e.why = field + ": " + message
	return e
}

// request is a REST request under way.
type request struct {
	*http.Request
	route   string
	body    []byte // JSON
	files   map[string]File
	status  int // of a good answer, when it is neither 200 nor 204
	headers http.Header
}

// handler does what a request asks for. A nil answer is 204. The lock is held.
type handler func(q *request) (any, *apiError)

// tokened tells whether the token in the path is all the authority it needs.
func (q *request) tokened() bool {
	return strings.Contains(q.route, "/{token}")
}

// decode reads the body into v.
func (q *request) decode(v any) *apiError {
	if err := json.Unmarshal(q.body, v); err != nil {
		field := "body"
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			field = wrong.Field
		}
		return badForm(field, "BASE_TYPE_BAD_TYPE", "Value has the wrong type.")
	}
	return nil
}

// handle serves a route.
func (s *Server) handle(route string, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, route: route, headers: w.Header()}
		bad := q.read()
		f := s.takeFault(route, s.where(r))
		if f != nil && f.Hold != nil {
			select {
			case <-f.Hold:
			case <-s.done:
			}
			f = nil
		}
		if f != nil {
			s.suffer(q, h, f.After && bad == nil, f.Status)
			s.fail(w, r, f)
			return
		}
		status, body := 0, json.RawMessage(nil)
		if bad == nil {
			status, body, bad = s.perform(q, h)
		}
		if bad != nil {
			bad.setHeaders(w.Header())
			reply(w, bad.status, bad.body())
			return
		}
		if body == nil {
			w.WriteHeader(status)
			return
		}
		reply(w, status, body)
	}
}

// where is the channel that a request is about: by its address, or where it
// belongs to an interaction, where that came from.
func (s *Server) where(r *http.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.interactions[r.PathValue("token")]; i != nil {
		return i.channel.id
	}
	return r.PathValue("channel")
}

// suffer does what a request that a fault hits does all the same.
func (s *Server) suffer(q *request, h handler, effect bool, status int) {
	if effect {
		_, _, _ = s.perform(q, h)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(q, status)
}

// perform admits a request and carries it out under the lock.
func (s *Server) perform(q *request, h handler) (int, json.RawMessage, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, bad := any(nil), s.admit(q)
	if bad == nil {
		out, bad = h(q)
	}
	status := q.status
	switch {
	case bad != nil:
		status = bad.status
		if bad.code == invalidForm || bad.code == emptyMessage {
			s.violate("%s: %s", q.route, cmp.Or(bad.why, bad.message))
		}
	case status != 0:
	case out == nil:
		status = http.StatusNoContent
	default:
		status = http.StatusOK
	}
	s.record(q, status)
	if out == nil || bad != nil {
		return status, nil, bad
	}
	return status, raw(out), nil
}

// admit checks the caller, the rate, and the form of a request.
func (s *Server) admit(q *request) *apiError {
	if v := q.PathValue("version"); v != "v9" && v != "v10" {
		return refusal(http.StatusBadRequest, 50041, "Invalid API version provided.")
	}
	authority := q.Header.Get("Authorization")
	if !q.tokened() && q.route != "GET /gateway" && authority != "Bot "+s.options.Token {
		return refusal(http.StatusUnauthorized, 0, "401: Unauthorized")
	}
	if bad := s.limit(q); bad != nil {
		return bad
	}
	if !agentForm.MatchString(q.UserAgent()) {
		s.violate("%s: the User-Agent is not of the documented form", q.route)
	}
	return s.contract.check(q)
}

// record keeps a request for [Server.Calls]. The lock is held.
func (s *Server) record(q *request, status int) {
	path := q.URL.Path
	if _, rest, ok := strings.Cut(strings.TrimPrefix(path, "/api/"), "/"); ok {
		path = "/" + rest
	}
	s.called[q.route]++
	s.calls = append(s.calls, Call{
		At: s.now(), Route: q.route, Path: path, Query: q.URL.Query(), Body: q.body, Status: status,
	})
	s.change()
}

// agentForm is what Discord asks for; others may be blocked
// (https://discord.com/developers/docs/reference#user-agent).
var agentForm = regexp.MustCompile(`^DiscordBot \(https?://\S+, \S+\)`)

// read takes the body apart: JSON, or a form with payload_json and files.
func (q *request) read() *apiError {
	q.Body = http.MaxBytesReader(nil, q.Body, largestRequest)
	kind := q.Header.Get("Content-Type")
	if !strings.HasPrefix(kind, "multipart/form-data") {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return tooLarge(err)
		}
		if len(body) > 0 && !strings.HasPrefix(kind, "application/json") {
			return badForm("body", "CONTENT_TYPE_INVALID", `Expected "Content-Type" header to be one of {'application/json'}.`)
		}
		q.body = body
		return nil
	}
	if err := q.ParseMultipartForm(largestRequest); err != nil {
		return tooLarge(err)
	}
	q.body = []byte(q.FormValue("payload_json"))
	if len(q.body) == 0 {
		q.body = []byte("{}")
	}
	q.files = map[string]File{}
	for field, parts := range q.MultipartForm.File {
		f, err := parts[0].Open()
		if err != nil {
			return tooLarge(err)
		}
		data, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			return tooLarge(err)
		}
		id := strings.TrimSuffix(strings.TrimPrefix(field, "files["), "]")
		q.files[id] = File{Name: parts[0].Filename, Type: parts[0].Header.Get("Content-Type"), Data: data}
	}
	return nil
}

func tooLarge(err error) *apiError {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return entityTooLarge
	}
	return badForm("body", "BASE_TYPE_BAD_TYPE", "The body can't be read.")
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
