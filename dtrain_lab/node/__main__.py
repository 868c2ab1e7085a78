import sys

if __name__ == "__main__":
    if sys.argv[1:2] == ["attached"]:  # beside every rank of a job: without what a cluster's agent needs
        from dtrain_lab.node.attached import main as attached

        sys.exit(attached(sys.argv[1:]))
    if sys.argv[1:2] == ["turn"]:
        from dtrain_lab.node.turn import main as turn

        sys.exit(turn(sys.argv[1:]))
    if sys.argv[1:2] == ["stage"]:
        from dtrain_lab.node.stage import main as stage

        sys.exit(stage(sys.argv[1:]))
    if sys.argv[1:2] == ["speed"]:
        from dtrain_lab.node.speed import main as speed

        sys.exit(speed(sys.argv[1:]))
    from dtrain_lab.node.main import main

    main()
