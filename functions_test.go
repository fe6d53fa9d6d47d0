package triad_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxBinary is how large the binary of a function may be, bytes, by processor:
// Lambda loads it at every cold start. arm64 is what template.yaml deploys; for
// amd64 the same instructions take more bytes.
var maxBinary = map[string]int64{"arm64": 12_000_000, "amd64": 13_000_000}

// functionPackages are the programs that run as Lambda functions.
func functionPackages(t *testing.T) (all []pkg) {
	t.Helper()
	for _, p := range list(t) {
		if strings.HasPrefix(p.path(), "functions/") && p.Name == "main" {
			all = append(all, p)
		}
	}
	if len(all) < 5 {
		t.Fatalf("there are %d functions: submission, scheduler, supervisor and two agents at least", len(all))
	}
	return all
}

// TestFunctionsAreWiring: one file of at most 30 lines, and nothing in it that a
// test would be for.
func TestFunctionsAreWiring(t *testing.T) {
	t.Parallel()
	for _, p := range functionPackages(t) {
		text, err := os.ReadFile(filepath.Join(p.Dir, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); len(p.GoFiles) != 1 || lines > 30 {
			t.Errorf("%s has the files %v, and main.go %d lines", p.path(), p.GoFiles, lines)
		}
	}
}

// TestFunctionsLeaveOutWhatTheyDoNotNeed: neither a database nor Prometheus, and
// for AWS neither profiles nor single sign-on.
func TestFunctionsLeaveOutWhatTheyDoNotNeed(t *testing.T) {
	t.Parallel()
	unwanted := []string{"modernc.org/", "database/sql", "github.com/prometheus/", "github.com/aws/aws-sdk-go-v2/config",
		"github.com/alecthomas/kong", module + "shared/store/sqlitestore", module + "shared/embedded", module + "shared/api"}
	for _, p := range functionPackages(t) {
		for _, dep := range p.Deps {
			if slices.ContainsFunc(unwanted, func(u string) bool { return strings.HasPrefix(dep, u) }) {
				t.Errorf("%s depends on %s", p.path(), dep)
			}
		}
	}
}

// TestFunctionsAreSmall builds them as `sam build` does with the flags of the
// Makefile, for both processors.
func TestFunctionsAreSmall(t *testing.T) {
	t.Parallel()
	flags := functionFlags(t)
	for processor, most := range maxBinary {
		for _, p := range functionPackages(t) {
			out := filepath.Join(t.TempDir(), "bootstrap")
			build := exec.Command("go", "build", "-o", out, p.ImportPath)
			build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+processor, "GOFLAGS="+flags)
			if said, err := build.CombinedOutput(); err != nil {
				t.Errorf("building %s: %v\n%s", p.path(), err, said)
				continue
			}
			info, err := os.Stat(out)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > most {
				t.Errorf("%s has %d bytes for %s, at most %d are allowed", p.path(), info.Size(), processor, most)
			}
			t.Logf("%s %s: %.1f MB", p.path(), processor, float64(info.Size())/1e6)
		}
	}
}

// functionFlags are the flags by which the Makefile has functions built.
func functionFlags(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^FUNCTION_FLAGS *:= *(.+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the Makefile has no FUNCTION_FLAGS")
	}
	return string(found[1])
}
