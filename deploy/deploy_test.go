// Package deploy holds what nod is deployed with. There is no code in it but these
// tests, which hold the files to each other and to the documentation.
package deploy

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"nod/cmd/bot/config"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// run runs a program of the system's, where it is installed; else the test is skipped.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not here", name)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// Prometheus' own tool takes the alerts, and each fires when it should.
func TestAlertsByPromtool(t *testing.T) {
	run(t, "prometheus", "promtool", "check", "rules", "nod.rules.yml")
	run(t, "prometheus", "promtool", "test", "rules", "nod.rules.test.yml")
}

// Every metric of the alerts, the dashboard and the runbooks is one that nod has. The operator
// is told what every alert asks for, and a test has each fire and end.
func TestAlertsAreDocumented(t *testing.T) {
	rules, metrics, page := read(t, "prometheus/nod.rules.yml"), read(t, "../docs/metrics.md"), read(t, "../docs/operate.md")
	board := read(t, "grafana/nod.json")
	if !json.Valid([]byte(board)) {
		t.Error("the dashboard is no JSON")
	}
	for _, name := range regexp.MustCompile(`nod_[a-z_]+`).FindAllString(rules+board+page, -1) {
		if name = strings.TrimSuffix(name, "_bucket"); !strings.Contains(metrics, "`"+name+"`") {
			t.Errorf("an alert, the dashboard or a runbook asks for %s, which is not in docs/metrics.md", name)
		}
	}
	tried := read(t, "prometheus/nod.rules.test.yml")
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	for _, m := range alerts {
		if !regexp.MustCompile(`alertname: `+m[1]+`\n +exp_alerts: \[\{`).MatchString(tried) || !strings.Contains(tried, "alertname: "+m[1]+", exp_alerts: []}") {
			t.Errorf("no test has %s fire, and not", m[1])
		}
		if !strings.Contains(page, "`"+m[1]+"`") {
			t.Errorf("docs/operate.md does not say what %s asks for", m[1])
		}
	}
	if len(alerts) == 0 {
		t.Error("no alerts were found")
	}
}

// The lines of the log that the operator's page explains are lines that there are.
func TestLogLinesAreThere(t *testing.T) {
	var sources strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		sources.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(read(t, "../docs/operate.md"), "| line | level |")
	if !found {
		t.Fatal("there is no table of lines")
	}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 || !strings.Contains(cells[2], "info") && !strings.Contains(cells[2], "warn") && !strings.Contains(cells[2], "error") {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			if !strings.Contains(sources.String(), `"`+m[1]+`"`) {
				t.Errorf("no line of the log is %q", m[1])
			}
		}
	}
}

// The unit waits for the longest drain that the defaults can ask for, and is as
// closed as the page says.
func TestUnit(t *testing.T) {
	unit := read(t, "systemd/nod.service")
	for _, want := range []string{"TimeoutStopSec=100s", "KillMode=mixed", "RestartPreventExitStatus=2", "DynamicUser=yes", "NoNewPrivileges=yes"} {
		if !strings.Contains(unit, want+"\n") {
			t.Errorf("the unit lacks %s", want)
		}
	}
	_, version, _ := strings.Cut(strings.TrimSpace(run(t, ".", "systemd-analyze", "--version")), " ")
	version, _, _ = strings.Cut(version, " ")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "nod.service"), unit)
	alone := exposure(t, dir)
	write(t, filepath.Join(dir, "nod.service.d", "python.conf"), read(t, "systemd/python.conf"))
	withPython := exposure(t, dir)
	page := read(t, "../docs/operate.md")
	if strings.Contains(page, "(systemd "+version+";") && !(strings.Contains(page, "exposure level of "+alone+" (systemd") && strings.Contains(page, "beside it, "+withPython+":")) {
		t.Errorf("docs/operate.md does not say that the exposure level is %s, and %s with Python", alone, withPython)
	}
	if level, err := strconv.ParseFloat(alone, 64); err != nil || level > 2 {
		t.Errorf("the unit's exposure level is %s", alone)
	}
}

// exposure is how exposed the unit in a folder is, as systemd counts it.
func exposure(t *testing.T, dir string) string {
	t.Helper()
	out := run(t, dir, "systemd-analyze", "security", "--offline=true", "./nod.service")
	level := regexp.MustCompile(`exposure level for nod.service: ([0-9.]+)`).FindStringSubmatch(out)
	if level == nil {
		t.Skip("this systemd-analyze gives no figure")
	}
	return level[1]
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The container has what the tests have the sandbox work with, and no root.
func TestContainer(t *testing.T) {
	file, deps := read(t, "Containerfile"), read(t, "../Makefile")
	for _, p := range []string{"bubblewrap", "python3", "numpy", "pandas", "matplotlib", "ca-certificates"} {
		if !strings.Contains(file, p) {
			t.Errorf("the Containerfile installs no %s", p)
		}
		if p != "ca-certificates" && !strings.Contains(deps, p) {
			t.Errorf("make deps installs no %s", p)
		}
	}
	if !regexp.MustCompile(`(?m)^USER [1-9][0-9]*:[1-9][0-9]*$`).MatchString(file) {
		t.Error("the Containerfile names no unprivileged user by number")
	}
	if strings.Index(file, "\nUSER") > strings.Index(file, "\nENTRYPOINT") {
		t.Error("the user comes too late")
	}
	if ignored := read(t, "../.dockerignore"); !strings.Contains(ignored, "\n*\n!dist/bot-*-linux-*\n") {
		t.Error("the build is given more than the released programs, or not those")
	}
	asks := regexp.MustCompile(`(?m)bash, -c, '(.+)'\]$`).FindStringSubmatch(read(t, "compose.yaml"))
	if asks == nil {
		t.Fatal("the compose file does not ask nod for its health")
	}
	for status, well := range map[int]bool{http.StatusOK: true, http.StatusServiceUnavailable: false} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		srv := httptest.NewServer(mux)
		command := strings.Replace(asks[1], "127.0.0.1/8080", strings.Replace(srv.Listener.Addr().String(), ":", "/", 1), 1)
		if err := exec.CommandContext(t.Context(), "bash", "-c", command).Run(); (err == nil) != well {
			t.Errorf("with status %d the container's health is %v", status, err)
		}
		srv.Close()
	}
	if compose := read(t, "compose.yaml"); !strings.Contains(compose, "stop_grace_period: 100s") || !strings.Contains(compose, "noeviction") {
		t.Error("the compose file kills a drain, or lets Redis forget")
	}
}

// The manifest is valid YAML. Its names agree with the program and with the image, and its
// configuration is one that nod takes.
func TestKubernetes(t *testing.T) {
	text := read(t, "kubernetes/nod.yaml")
	docs := map[string]map[string]any{}
	for part := range strings.SplitSeq(text, "\n---\n") {
		var doc map[string]any
		if err := yaml.Unmarshal([]byte(part), &doc); err != nil {
			t.Fatal(err)
		}
		kind, _ := doc["kind"].(string)
		docs[kind] = doc
	}
	at := func(doc any, path ...any) any {
		for _, key := range path {
			switch in := doc.(type) {
			case map[string]any:
				name, _ := key.(string)
				doc = in[name]
			case []any:
				n, _ := key.(int)
				doc = in[n]
			}
		}
		return doc
	}
	pod := at(docs["Deployment"], "spec", "template", "spec")
	nod := at(pod, "containers", 0)
	image, health := read(t, "Containerfile"), read(t, "../cmd/bot/health.go")
	for _, probe := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		path, _ := at(nod, probe, "httpGet", "path").(string)
		if path == "" || !strings.Contains(health, `"GET `+path+`"`) {
			t.Errorf("the %s asks for %q, which nod does not serve", probe, path)
		}
	}
	if user, _ := at(pod, "securityContext", "runAsUser").(int); !strings.Contains(image, "\nUSER "+strconv.Itoa(user)+":") {
		t.Errorf("the image has no user %d", user)
	}
	if port, _ := at(nod, "ports", 0, "containerPort").(int); !strings.Contains(image, "\nEXPOSE "+strconv.Itoa(port)+"\n") || !strings.Contains(text, "0.0.0.0:"+strconv.Itoa(port)) {
		t.Errorf("nod does not listen on %d", port)
	}
	if grace := at(pod, "terminationGracePeriodSeconds"); grace != 100 {
		t.Errorf("a drain is killed after %v s", grace)
	}
	if strategy := at(docs["Deployment"], "spec", "strategy", "type"); strategy != "Recreate" {
		t.Errorf("two processes may have one file of SQLite, by %v", strategy)
	}
	secrets := t.TempDir()
	for _, m := range regexp.MustCompile(`file:/run/secrets/nod/(\w+)`).FindAllStringSubmatch(text, -1) {
		write(t, filepath.Join(secrets, m[1]), map[string]string{"slack_app_token": "xapp-1-A1-1-a", "slack_bot_token": "xoxb-1-1-a", "llm_key": "key"}[m[1]])
	}
	file, _ := at(docs["ConfigMap"], "data", "nod.yaml").(string)
	name := filepath.Join(secrets, "nod.yaml")
	write(t, name, strings.ReplaceAll(file, "/run/secrets/nod", secrets))
	if _, err := config.Load(name, config.LoadOptions{Getenv: func(string) (string, bool) { return "", false }}); err != nil {
		t.Errorf("nod does not take the file: %v", err)
	}
}
