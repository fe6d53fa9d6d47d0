package emf_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"triad/shared/telemetry/emf"
)

func TestALogLineIsInLambdasFormat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	emf.NewLogger(&out, "INFO").With("queue", "scheduler").WithGroup("inner").Warn("message not handled", "error", errors.New("no"), "msg", 1)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339, line["timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(line, "timestamp")
	equal(t, "line", line, map[string]any{"level": "WARN", "message": "message not handled", "queue": "scheduler",
		"inner": map[string]any{"error": "no", "msg": 1.}})
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"TRACE": "DEBUG INFO WARN ERROR", "debug": "DEBUG INFO WARN ERROR", "INFO": "INFO WARN ERROR", "WARN": "WARN ERROR",
		"ERROR": "ERROR", "FATAL": "ERROR", "": "INFO WARN ERROR", "loud": "INFO WARN ERROR",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := emf.NewLogger(&out, word)
			var written []string
			for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				if log.Log(t.Context(), l, "x"); out.Len() > 0 {
					written = append(written, l.String())
				}
				out.Reset()
			}
			equal(t, "levels", strings.Join(written, " "), want)
		})
	}
}
