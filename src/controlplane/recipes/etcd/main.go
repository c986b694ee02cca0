// One program that is etcd, etcdctl (snapshot save, compaction) or etcdutl (snapshot restore), by the name it is called by.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case "etcdctl":
		ctlv3.MustStart()
	case "etcdutl":
		root := &cobra.Command{Use: "etcdutl", SilenceUsage: true}
		root.PersistentFlags().StringVarP(&etcdutl.OutputFormat, "write-out", "w", "simple", "set the output format (json, simple)")
		root.AddCommand(etcdutl.NewSnapshotCommand(), etcdutl.NewDefragCommand(), etcdutl.NewVersionCommand())
		if err := root.Execute(); err != nil {
			os.Exit(1)
		}
	default:
		etcdmain.Main(os.Args)
	}
}
