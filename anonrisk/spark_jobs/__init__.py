"""The command line on Spark: each module is a job, and `docs/howto/gate_spark.md` their manual.

``python -m anonrisk.spark_jobs.check`` starts one by itself. For spark-submit, which wants a file,
the file is these two lines:

    from anonrisk.spark_jobs.check import main
    raise SystemExit(main())
"""
