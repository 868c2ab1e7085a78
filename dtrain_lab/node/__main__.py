from dtrain_lab.node.main import main

if __name__ == "__main__":
    main()
